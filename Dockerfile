# Parley in a container: `docker compose up` starts it together with Postgres and Ollama.
# Pinned by version and digest. Another one: docker compose build --build-arg NODE_IMAGE=…
ARG NODE_IMAGE=node:24.20.0-bookworm-slim@sha256:ba849c60be29959425b8734d57b8b4b7d56f98edd9504c9af091d5281095a71e
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY src ./src
COPY channels ./channels
COPY plugins ./plugins
# What only builds leaves, and so does the Node.js that comes with the packages: the image has its own. Other optional packages
# are needed: what reads pictures is one of them. Traces for OpenTelemetry work in the image without a further installation.
RUN npm run build && npm run build:plugins && npm prune --omit=dev \
  && npm install --no-save --save-prod --omit=dev @opentelemetry/api@1.10.0 @opentelemetry/exporter-trace-otlp-proto@0.301.1 @opentelemetry/resources@3.1.1 @opentelemetry/sdk-trace@3.1.1 \
  && rm -rf node_modules/node-linux-* node_modules/.bin/node

FROM ${NODE_IMAGE}
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=8080 \
    GATEWAY_HOME=/data \
    PARLEY_COMMAND="docker compose exec gateway parley"

# The sandbox of the tool exec; most hosts do not allow it in containers, see docs/operating.md.
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
COPY drizzle ./drizzle
COPY src/launch.js ./src/
COPY src/launch ./src/launch

# What PARLEY_COMMAND calls: texts name commands by it, as they are typed outside the container.
RUN ln -s /app/src/launch.js /usr/local/bin/parley && mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 8080

HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/readyz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

# Without npm in between: the signal that stops the container reaches the gateway itself, which has 25 s to leave its work in order.
STOPSIGNAL SIGTERM
CMD ["node", "--max-semi-space-size=16", "--v8-pool-size=2", "src/launch.js", "start"]
