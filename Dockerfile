# A static program in an empty image, which runs as a user without rights and writes to /data alone:
#
#   docker build --build-arg VERSION="$(git describe --tags --always --dirty)" -t precis .
#   docker run --read-only --cap-drop ALL -v precis:/data -p 4222:4222 -e PRECIS_NATS_LISTEN=:4222 \
#     -e PRECIS_NATS_USER=me -e PRECIS_NATS_PASSWORD_ENV=WORD -e WORD precis
#
# Everything listens on the container's loopback until an address is set; docs/operations.md says what each needs then.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# What "processor version" says: the repository is not in the image's context.
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X precis/cmd/processor/console.release=$VERSION" -o /out/processor ./cmd/processor && \
    mkdir /out/data && /out/processor version

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/processor /processor
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
VOLUME /data
EXPOSE 4222 8080 8088
ENTRYPOINT ["/processor"]
CMD ["run", "--data", "/data"]
