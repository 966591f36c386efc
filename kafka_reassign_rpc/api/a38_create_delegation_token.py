"""CreateDelegationToken (key 38), versions 0-3: this node makes no delegation tokens.

Behaviour   DELEGATION_TOKEN_AUTH_DISABLED, as from a broker without `delegation.token.secret.key`, and before that
            DELEGATION_TOKEN_REQUEST_NOT_ALLOWED where the client has not authenticated. Brokers that have
            one make tokens: clients may ask these.
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
