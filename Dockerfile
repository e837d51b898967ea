# The daemon as an image: no build step, no npm, not root, nothing written but the store.
#
#   docker build -t opsd .
#   docker run --read-only --tmpfs /tmp -v opsd-data:/var/lib/opsd -v ./config.yaml:/etc/opsd/config.yaml:ro -p 10777:10777 opsd
#
# Both bases are arguments, so that a mirror or a pinned digest can take their place.
ARG NODE_IMAGE=node:24-bookworm-slim
ARG BASE_IMAGE=debian:bookworm-slim

FROM ${NODE_IMAGE} AS node
WORKDIR /opt/opsd
COPY package.json package-lock.json .npmrc ./
# Without the optional packages: they bring a Node for machines that lack one. Nothing here needs an install script.
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="msgsvc-opsd" \
      org.opencontainers.image.description="Metrics, traces and repairs by policy for accounts of a message delivery, workflow and search service" \
      org.opencontainers.image.licenses="MIT"
COPY --from=node /usr/local/bin/node /usr/local/bin/node
WORKDIR /opt/opsd
COPY --from=node /opt/opsd/node_modules ./node_modules
COPY package.json LICENSE ./
COPY src ./src
# The store's folder belongs to the user that the daemon runs as; all else belongs to root.
RUN mkdir -p /var/lib/opsd && chown 65532:65532 /var/lib/opsd
USER 65532:65532
VOLUME /var/lib/opsd
ENV NODE_ENV=production \
    OPSD_CONFIG=/etc/opsd/config.yaml \
    OPSD_LISTEN=0.0.0.0:10777 \
    OPSD_STORE=/var/lib/opsd/opsd.db
EXPOSE 10777
HEALTHCHECK --interval=15s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:10777/-/healthy').then((r) => { process.exitCode = r.ok ? 0 : 1; }, () => { process.exitCode = 1; })"]
ENTRYPOINT ["node", "--max-semi-space-size=2", "src/opsd.js"]
CMD ["run", "--config", "/etc/opsd/config.yaml"]
