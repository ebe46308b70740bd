#!/bin/sh
# Makes the namespace of docker-compose.yml in its Temporal server. It may run again.
set -eu
until temporal operator cluster health; do sleep 1; done
temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" ||
    temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention 720h
