"""ACLs, and the decisions of Kafka 3.9's AclAuthorizer.

acl_binding     the values of an ACL, by Kafka's names, and filters of ACLs
acl_authorizer  whether a principal may do something, by all ACLs, kept by resource
"""
