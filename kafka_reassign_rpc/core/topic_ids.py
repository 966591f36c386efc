"""The text of topic ids in Kafka's tools, znodes and files."""

from base64 import urlsafe_b64encode
from uuid import UUID


def topic_id_text(topic_id: UUID) -> str:
    """Base64 for URLs, without padding (org.apache.kafka.common.Uuid)."""
    return str(urlsafe_b64encode(topic_id.bytes).rstrip(b"="), "ascii")
