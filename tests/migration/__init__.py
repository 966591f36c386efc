"""Migrations of stock clusters from ZooKeeper to KRaft, before which and while our servers are the controllers."""
