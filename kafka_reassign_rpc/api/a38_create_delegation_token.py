"""CreateDelegationToken: always refused, see `delegation_tokens`. Brokers with a secret key make tokens."""

from kafka_reassign_rpc.api.delegation_tokens import token_api
from kafka_reassign_rpc.protocol.messages import CreateDelegationTokenResponse

API = token_api(
    38,
    "CreateDelegationToken",
    3,
    CreateDelegationTokenResponse,
    issue_timestamp_ms=-1,
    expiry_timestamp_ms=-1,
    max_timestamp_ms=-1,
)
