"""Tests of GSSAPI run where there is a KDC; `.ci/provision` installs one where it may."""

from tests.optional_software import HAS_KDC, NEED_KDC

collect_ignore = [] if HAS_KDC else [*NEED_KDC]
