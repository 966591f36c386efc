"""ACLs, and the decisions of Kafka 3.9's AclAuthorizer.

acl_binding     the values of an ACL, by Kafka's names
acl_filters     filters of ACLs
acl_cache       all ACLs, by resource
acl_authorizer  whether a principal may do something
java_host       addresses as ACLs have them
"""
