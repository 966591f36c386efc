"""What a run leaves out is said."""

from tests.optional_software import left_out


def test_a_run_says_which_tests_it_leaves_out_and_what_they_need() -> None:
    assert list(left_out(kdc=True, prometheus=True, systemd=True)) == []
    assert list(left_out(kdc=False, prometheus=False, systemd=False)) == [
        "left out: test_kerberos_cluster.py, test_kerberos_kdc.py, which need a KDC, gssapi and k5test (make kerberos)",
        "left out: test_with_prometheus.py, test_rates_recipe.py, which need prometheus, promtool, curl and jq",
        "left out: test_unit.py, which need systemd-analyze and libseccomp (systemd of Debian)",
    ]
