"""Quotas of users, clients and IPs.

client_quotas     whose quotas there are, and how requests read and change them (KIP-546)
mutation_quotas   how many partitions a client may create and delete (KIP-599)
"""
