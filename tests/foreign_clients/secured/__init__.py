"""Every client over every listener kind and mechanism, with credentials that are right, wrong, expired and revoked."""
