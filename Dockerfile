# Serves on port 9092. With no further setting it starts a ZooKeeper and six simulated brokers of its own
# (data in /data); `--zookeeper-connect HOST:PORT/chroot` makes it the controller of that cluster instead.
FROM python:3.11-slim-bookworm

# Java's package puts links to manual pages into a directory that slim images may lack.
RUN apt-get update \
    && mkdir -p /usr/share/man/man1 \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY requirements.lock pyproject.toml README.md LICENSE ./
RUN pip install --no-cache-dir --requirement requirements.lock
COPY schemas schemas
COPY kafka_reassign_rpc kafka_reassign_rpc
RUN pip install --no-cache-dir --no-deps --no-build-isolation .

RUN useradd --system --home-dir /data --create-home controller
USER controller
VOLUME /data
EXPOSE 9092
STOPSIGNAL SIGTERM
ENTRYPOINT ["kafka-reassign-rpc"]
CMD ["serve", "--listeners", "PLAINTEXT://0.0.0.0:9092", "--advertised-listeners", "PLAINTEXT://localhost:9092", "--data-dir", "/data"]
