"""ACLs: what they say, and whom they let do what. Decides as Kafka 3.9's AclAuthorizer."""
