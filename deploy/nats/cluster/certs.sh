#!/bin/sh
# usage: certs.sh DIR — a CA and one certificate for n1, n2, n3 and this machine, to try the cluster with. A real cluster has a certificate
# and a key for each server, and a CA whose key is elsewhere.
set -eu
dir=${1:?usage: certs.sh DIR}
mkdir -p "$dir"
cd "$dir"
umask 077
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -subj "/CN=precis test CA" \
  -addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign" -keyout ca-key.pem -out ca.pem
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=nats" -keyout server-key.pem -out server.csr
printf '%s\n' "subjectAltName=DNS:n1,DNS:n2,DNS:n3,DNS:localhost,IP:127.0.0.1" "extendedKeyUsage=serverAuth,clientAuth" >server.ext
openssl x509 -req -days 365 -in server.csr -CA ca.pem -CAkey ca-key.pem -CAcreateserial -extfile server.ext -out server.pem
rm server.csr server.ext
chmod 644 ca.pem server.pem
