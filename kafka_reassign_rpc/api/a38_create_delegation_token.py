"""CreateDelegationToken (key 38), versions 0-3: this node makes no delegation tokens. It answers
DELEGATION_TOKEN_AUTH_DISABLED, as a broker without `delegation.token.secret.key`, and before that
DELEGATION_TOKEN_REQUEST_NOT_ALLOWED to a client that has not authenticated. Brokers with that key make tokens.
"""

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
