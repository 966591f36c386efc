"""DescribeDelegationToken: always refused, see `delegation_tokens`."""

from kafka_reassign_rpc.api.delegation_tokens import token_api
from kafka_reassign_rpc.protocol.messages import DescribeDelegationTokenResponse

API = token_api(41, "DescribeDelegationToken", 3, DescribeDelegationTokenResponse)
