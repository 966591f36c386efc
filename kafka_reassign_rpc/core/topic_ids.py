from base64 import urlsafe_b64encode
from uuid import UUID


def topic_id_text(topic_id: UUID) -> str:
    """org.apache.kafka.common.Uuid: Base64 for URLs, without padding."""
    return str(urlsafe_b64encode(topic_id.bytes).rstrip(b"="), "ascii")
