# nightaudit in a container: a static program, and nothing else than certificates.
#
#   docker run --rm -v nightaudit:/var/lib/nightaudit \
#     -v ./nightaudit.yaml:/etc/nightaudit/nightaudit.yaml:ro \
#     -v ~/.claude/projects:/traces:ro nightaudit
#
# There is no git and no shell inside: tools of a re-run need an image of your own
# that starts FROM another base and copies /nightaudit into it.
ARG GO_VERSION=1.26
FROM golang:${GO_VERSION} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
# timetzdata: schedules and allowances name time zones, and scratch has none.
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -tags timetzdata -ldflags "-s -w -X main.linkedVersion=${VERSION}" -o /out/nightaudit ./cmd/nightaudit
RUN mkdir -p /out/state /out/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/nightaudit /nightaudit
# scratch has no users, so the folders that are written get their owner here.
COPY --from=build --chown=65532:65532 /out/state /var/lib/nightaudit
COPY --from=build --chown=65532:65532 /out/tmp /tmp
ENV NIGHTAUDIT_CONFIG=/etc/nightaudit/nightaudit.yaml STATE_DIRECTORY=/var/lib/nightaudit HOME=/var/lib/nightaudit
USER 65532:65532
VOLUME /var/lib/nightaudit
ENTRYPOINT ["/nightaudit"]
CMD ["run"]
