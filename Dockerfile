# docker build --build-arg VERSION=$(git describe --tags --always) -t engramd .
# docker run --read-only -p 7447:7447 -v engramd:/data -e ENGRAMD_PUBLIC_URL=wss://relay.example.com engramd
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN make product VERSION=$VERSION && install -d -m 0700 /data

# glibc and nothing else: no shell, no package manager.
FROM gcr.io/distroless/base-debian12:nonroot
COPY --from=build /src/bin/engramd /usr/local/bin/engramd
COPY --from=build /src/LICENSE /usr/share/doc/engramd/LICENSE
COPY --from=build --chown=65532:65532 /data /data
USER 65532:65532
# The relay's port must be reachable from outside the container, so it needs
# ENGRAMD_PUBLIC_URL and says so. Metrics are for the container's network only:
# do not publish 9447.
ENV ENGRAMD_LISTEN=0.0.0.0:7447 ENGRAMD_METRICS_LISTEN=0.0.0.0:9447 ENGRAMD_DATA=/data
VOLUME /data
EXPOSE 7447
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=6s --start-period=60s CMD ["/usr/local/bin/engramd", "healthcheck"]
ENTRYPOINT ["/usr/local/bin/engramd"]
CMD ["serve"]
