# The worker of a cluster (the default):       docker build -t waymark-worker .
# The command line, with everything in it:     docker build -t waymark --target waymark .
# Both with the examples deployed:             targets example and example-tools

FROM golang:1.26.8-bookworm AS build
WORKDIR /src
ENV CGO_ENABLED=0
COPY go.mod go.sum ./
# In the workspace, the command would download every module that any module mentions.
RUN GOWORK=off go mod download
COPY . .
# The version that runs have on record, such as 1.2.3; without one it is that of the module.
ARG VERSION=""

FROM build AS build-waymark
RUN go build -ldflags "-s -w -X main.version=${VERSION}" -o /out/waymark ./cmd/waymark

FROM build AS build-worker
RUN go build -ldflags "-s -w -X main.version=${VERSION}" -o /out/waymark-worker ./cmd/waymark-worker
RUN mkdir -p /out/pipelines && cp -r examples/* /out/pipelines/ && rm -r /out/pipelines/compose \
    && for pipeline in /out/pipelines/*/; do mkdir -p "${pipeline}out"; done

# No shell, no package manager; certificates and time zones, and the user nonroot (65532).
FROM gcr.io/distroless/static-debian12:nonroot AS waymark
COPY --from=build-waymark /out/waymark /usr/local/bin/waymark
WORKDIR /home/nonroot
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/waymark"]

FROM waymark AS example-tools
COPY --from=build-worker --chown=65532:65532 /out/pipelines /pipelines

FROM gcr.io/distroless/static-debian12:nonroot AS worker-base
COPY --from=build-worker /out/waymark-worker /usr/local/bin/waymark-worker
WORKDIR /home/nonroot
USER 65532:65532
EXPOSE 8077
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["/usr/local/bin/waymark-worker", "ready"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/waymark-worker"]

FROM worker-base AS example
COPY --from=build-worker --chown=65532:65532 /out/pipelines /pipelines

FROM worker-base AS worker
