"""RenewDelegationToken: always refused, see `delegation_tokens`."""

from kafka_reassign_rpc.api.delegation_tokens import token_api
from kafka_reassign_rpc.protocol.messages import RenewDelegationTokenResponse

API = token_api(39, "RenewDelegationToken", 2, RenewDelegationTokenResponse, expiry_timestamp_ms=-1)
