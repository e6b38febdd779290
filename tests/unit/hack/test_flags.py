import pytest

from local_cluster.flags import merged_flags


@pytest.mark.parametrize(
    ("ours", "added", "expected"),
    [
        pytest.param({"--v": "1"}, [], ["--v=1"], id="without additions the flags stay as they are"),
        pytest.param({"--v": "1"}, ["--v=4"], ["--v=4"], id="an added flag replaces ours"),
        pytest.param({}, ["--x=a=b,c"], ["--x=a=b,c"], id="a value may hold equal signs and commas"),
        pytest.param(
            {"--feature-gates": "A=true,B=true"},
            ["--feature-gates=B=false,C=true"],
            ["--feature-gates=A=true,B=false,C=true"],
            id="gates are joined, and the added ones win",
        ),
        pytest.param(
            {}, ["--feature-gates=A=true", "--feature-gates=B=true"], ["--feature-gates=A=true,B=true"],
            id="gates that come one by one are joined too",
        ),
        pytest.param(
            {"--runtime-config": "scheduling.k8s.io/v1=false"},
            ["--runtime-config=api/alpha"],
            ["--runtime-config=scheduling.k8s.io/v1=false,api/alpha=true"],
            id="an API that is named without a value is switched on",
        ),
        pytest.param(
            {"--disable-admission-plugins": "Priority"},
            ["--disable-admission-plugins=JobValidation,Priority"],
            ["--disable-admission-plugins=Priority,JobValidation"],
            id="lists of plugins are joined without doubles",
        ),
        pytest.param(
            {},
            ["--tls-sni-cert-key=a", "--tls-sni-cert-key=b"],
            ["--tls-sni-cert-key=a", "--tls-sni-cert-key=b"],
            id="other flags may come more than once",
        ),
    ],
)  # fmt: skip
def test_merged_flags(ours: dict[str, str], added: list[str], expected: list[str]) -> None:
    assert merged_flags(ours, added) == expected
