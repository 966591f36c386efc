"""Where replicas should lie: pure decisions over plain values, for the pipeline's jobs and for self-healing."""
