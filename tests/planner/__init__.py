"""The planner as a pure function: hard rules, determinism, how little is moved."""
