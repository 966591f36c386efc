# The server, for a cluster of yours. Its settings are in /etc/kafka-reassign-rpc/server.toml, which is mounted there; or give the command
# itself: `docker run … kafka-reassign-rpc serve --zookeeper-connect HOST:PORT/chroot …`. deploy/ has examples, with their ports and volumes.
#
# The base is one image for all builds. For a newer one look the digest of the tag up, and write both here:
#   docker buildx imagetools inspect python:3.11-slim-bookworm
FROM python:3.11.16-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b AS base

# What the extra [server] needs and nothing else, each file of it by its hash: requirements-production.lock (`make lock`).
FROM base AS build
WORKDIR /build
RUN python -m venv /opt/kafka-reassign-rpc
ENV PATH=/opt/kafka-reassign-rpc/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements-build.lock requirements-production.lock ./
RUN pip install --require-hashes --no-deps --requirement requirements-build.lock \
    && pip install --require-hashes --no-deps --no-build-isolation --requirement requirements-production.lock
COPY pyproject.toml setup.py README.md LICENSE ./
COPY kafka_reassign_rpc kafka_reassign_rpc
COPY schemas schemas
RUN pip install --no-deps --no-build-isolation . && pip uninstall --yes setuptools pip

FROM base
COPY --from=build /opt/kafka-reassign-rpc /opt/kafka-reassign-rpc
ENV PATH=/opt/kafka-reassign-rpc/bin:$PATH
# The numbers are fixed, since files that are handed in have owners by number.
RUN groupadd --gid 10001 controller \
    && useradd --uid 10001 --gid 10001 --home-dir /data --create-home --shell /usr/sbin/nologin controller
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 9092 9404
STOPSIGNAL SIGTERM
# Asks the server for /health at the address, and with the TLS, that its command line and its files say. Containers that run another
# command, or a server without metrics.listener, need --no-healthcheck.
HEALTHCHECK --interval=30s --timeout=30s --start-period=30s --retries=3 CMD ["kafka-reassign-rpc", "health", "--pid", "1"]
ENTRYPOINT ["kafka-reassign-rpc"]
CMD ["serve", "--config", "/etc/kafka-reassign-rpc/server.toml", "--data-dir", "/data"]
