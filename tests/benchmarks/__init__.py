"""The tools around the benchmarks. The benchmarks themselves are run by `make bench`."""
