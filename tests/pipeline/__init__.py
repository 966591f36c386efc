"""Snapshots, events, jobs and what is submitted."""
