#!/bin/sh
# Makes an authority of your own and a certificate for the nodes of compose.yaml, valid for a year, in certs/.
set -eu
cd "$(dirname "$0")"
mkdir -p certs
cd certs
names="DNS:rqlite1,DNS:rqlite2,DNS:rqlite3,DNS:localhost,IP:127.0.0.1"
openssl req -x509 -newkey rsa:2048 -nodes -days 365 -subj "/CN=rqlite authority" -keyout ca.key -out ca.crt
openssl req -newkey rsa:2048 -nodes -subj "/CN=rqlite" -keyout node.key -out node.csr
printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\n' "$names" > node.ext
openssl x509 -req -days 365 -in node.csr -CA ca.crt -CAkey ca.key -CAcreateserial -extfile node.ext -out node.crt
rm node.csr node.ext
chmod 600 ca.key
# The container's own user has to read it.
chmod 644 node.key
