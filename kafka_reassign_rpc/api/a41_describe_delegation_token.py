"""DescribeDelegationToken (key 41), versions 0-3: this node makes no delegation tokens.

Behaviour   DELEGATION_TOKEN_AUTH_DISABLED, as from a broker without `delegation.token.secret.key`, and before that
            DELEGATION_TOKEN_REQUEST_NOT_ALLOWED where the client has not authenticated. Brokers that have
            one make tokens: clients may ask these.
"""

from kafka_reassign_rpc.api.delegation_tokens import token_api
from kafka_reassign_rpc.protocol.messages import DescribeDelegationTokenResponse

API = token_api(41, "DescribeDelegationToken", 3, DescribeDelegationTokenResponse)
