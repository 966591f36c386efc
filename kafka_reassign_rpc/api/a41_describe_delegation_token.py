"""DescribeDelegationToken (key 41), versions 0-3: this node makes no delegation tokens (see CreateDelegationToken)."""

from kafka_reassign_rpc.api.delegation_tokens import token_api
from kafka_reassign_rpc.protocol.messages import DescribeDelegationTokenResponse

API = token_api(41, "DescribeDelegationToken", 3, DescribeDelegationTokenResponse)
