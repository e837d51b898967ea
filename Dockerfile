# The daemon as an image of one program: Node with the libraries it needs, the bundle, and nothing else. No shell, no
# npm, no package manager; not root; nothing written but the store and /tmp. docs/image.md explains how to build and run it.
#
#   docker build -t opsd .
#   docker run --read-only --tmpfs /tmp -v opsd-data:/var/lib/opsd -v ./opsd:/etc/opsd:ro -p 127.0.0.1:10777:10777 opsd
#
# The base is an argument, so that a mirror or a pinned digest can take its place: any Debian with Node 24 and npm.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY emulator/package.json ./emulator/
COPY src/foundation/package.json ./src/foundation/
# Without the optional packages: they bring a Node for machines that lack one. Nothing here needs an install script.
# A registry of one's own, with its credentials and certificates, comes as secrets of the build: they are in no layer.
RUN --mount=type=secret,id=npmrc,target=/run/secrets/npmrc \
    --mount=type=secret,id=npm-ca,target=/run/secrets/npm-ca \
    npm pkg delete optionalDependencies \
    && npm ci --ignore-scripts --userconfig=/run/secrets/npmrc --cache=/tmp/npm
COPY LICENSE ./
COPY src ./src
COPY emulator ./emulator
COPY deploy/package ./deploy/package
COPY deploy/image/root.ts deploy/image/sbom.ts deploy/image/licenses.ts deploy/image/symbols.ts deploy/image/health.ts \
  ./deploy/image/
# Two trees, /out/runtime and /out/app, a layer each: the larger one changes with the base alone.
ARG SOURCE_DATE_EPOCH
RUN SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH}" node deploy/image/root.ts /out

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
ARG SOURCE=https://msgsvc-opsd.example/
LABEL org.opencontainers.image.title="msgsvc-opsd" \
      org.opencontainers.image.description="Metrics, traces and repairs by policy for accounts of a message delivery, workflow and search service" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.documentation="${SOURCE}"
COPY --from=build /out/runtime/ /
COPY --from=build /out/app/ /
# The store's folder belongs to the user that the daemon runs as; all else belongs to root.
COPY --from=build --chown=65532:65532 /out/store/ /var/lib/opsd/
WORKDIR /opt/opsd
USER 65532:65532
VOLUME /var/lib/opsd
# Without Node's compile cache, no code is read from the volume. The allocator returns memory early (3 to 14 MB).
ENV PATH=/usr/local/bin \
    NODE_ENV=production \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=65536 \
    MALLOC_TRIM_THRESHOLD_=131072 \
    NODE_DISABLE_COMPILE_CACHE=1 \
    OPSD_CONFIG=/etc/opsd/config.yaml \
    OPSD_LISTEN=:10777 \
    OPSD_PROBES_LISTEN=:10779 \
    OPSD_STORE=/var/lib/opsd/opsd.db \
    OPSD_REVISION=${REVISION}
# Metrics, pages and API; hooks; probes.
EXPOSE 10777 10778 10779
# As patient as the probes on Kubernetes: a large store may have to be migrated, and a reload takes the listeners away.
HEALTHCHECK --interval=15s --timeout=5s --start-period=300s --retries=10 \
  CMD ["node", "health.js"]
# A larger young generation takes more memory, and one that begins smaller is collected more often during the start.
ENTRYPOINT ["node", "--min-semi-space-size=2", "--max-semi-space-size=4", "dist/opsd.js"]
CMD ["run", "--config", "/etc/opsd/config.yaml"]
