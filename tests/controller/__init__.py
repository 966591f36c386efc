"""Tests of the controller over a real ZooKeeper. Folders mirror the rooms of the package, or a route through ZooKeeper.

bare_controller   an elected controller without connections to brokers: the test answers in their place
cluster           the whole server with simulated brokers, in one process
crash_points      a controller that dies between any two transactions
"""
