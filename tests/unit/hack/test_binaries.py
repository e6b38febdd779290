import shutil
from pathlib import Path

import pytest

from local_cluster.binaries import MODULES, OWN_BINARIES, Module, ensure_binaries
from local_cluster.errors import ClusterError

ETCD, KWOK, KUBERNETES = MODULES


@pytest.fixture
def copied(tmp_path: Path) -> Module:
    shutil.copytree(KWOK.directory, tmp_path / "kwok")
    return Module(tmp_path / "kwok", KWOK.path, KWOK.packages)


def test_the_pinned_versions() -> None:
    assert [module.version for module in MODULES] == ["v3.6.16", "v0.8.0", "v1.36.4"]


def test_kubernetes_carries_its_version() -> None:
    assert "-X k8s.io/component-base/version.gitVersion=v1.36.4" in KUBERNETES.linker_flags
    assert "-X k8s.io/component-base/version.gitMinor=36" in KUBERNETES.linker_flags
    assert "-X" not in ETCD.linker_flags


def test_two_clones_share_the_cache(copied: Module) -> None:
    assert copied.key == KWOK.key


@pytest.mark.parametrize("name", ["go.mod", "go.sum"])
def test_a_changed_pin_is_built_anew(copied: Module, name: str) -> None:
    with (copied.directory / name).open("a") as pins:
        pins.write("\n// changed\n")
    assert copied.key != KWOK.key


def test_other_files_of_a_module_do_not_cost_a_build(copied: Module) -> None:
    (copied.directory / "stages.yaml").write_text("changed")
    assert copied.key == KWOK.key


def test_own_binaries_are_used_without_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [name for module in MODULES for name in module.packages]
    for name in names:
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv(OWN_BINARIES, str(tmp_path))
    assert ensure_binaries() == {name: tmp_path / name for name in names}


def test_missing_own_binaries_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kwok"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv(OWN_BINARIES, str(tmp_path))
    with pytest.raises(ClusterError, match="no executable kube-scheduler, kubectl"):
        ensure_binaries()
