"""Merges a component's default flags with those of the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# Values of these flags are joined: a user who adds one gate must not lose those of the profile.
_JOINED_MAPS = frozenset({"--feature-gates", "--runtime-config"})
_JOINED_LISTS = frozenset({"--disable-admission-plugins", "--enable-admission-plugins"})


def merged_flags(ours: Mapping[str, str], added: Iterable[str]) -> list[str]:
    """The default flags. An added flag of the same name is joined (gates, lists) or replaces the default."""
    merged = dict(ours)
    repeated: list[str] = []
    seen: set[str] = set()
    for flag in added:
        name, _, value = flag.partition("=")
        if name in _JOINED_MAPS:
            merged[name] = _join_maps(merged.get(name, ""), value)
        elif name in _JOINED_LISTS:
            merged[name] = _join_lists(merged.get(name, ""), value)
        elif name in seen:  # such as --tls-sni-cert-key, which may be repeated
            repeated.append(flag)
        else:
            merged[name] = value
        seen.add(name)
    return [f"{name}={value}" for name, value in merged.items() if value or name not in _JOINED_MAPS] + repeated


def _join_maps(first: str, second: str) -> str:
    pairs = dict(pair.partition("=")[::2] for text in (first, second) for pair in text.split(",") if pair)
    return ",".join(f"{key}={value or 'true'}" for key, value in pairs.items())


def _join_lists(first: str, second: str) -> str:
    return ",".join(dict.fromkeys(item for text in (first, second) for item in text.split(",") if item))
