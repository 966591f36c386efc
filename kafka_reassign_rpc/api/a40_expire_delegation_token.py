"""ExpireDelegationToken: always refused, see `delegation_tokens`."""

from kafka_reassign_rpc.api.delegation_tokens import token_api
from kafka_reassign_rpc.protocol.messages import ExpireDelegationTokenResponse

API = token_api(40, "ExpireDelegationToken", 2, ExpireDelegationTokenResponse, expiry_timestamp_ms=-1)
