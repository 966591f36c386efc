#!/bin/sh
# Makes in this folder the cluster's certificate authority (ca.key, ca.pem), if it is missing, and a keystore for each node:
#   STORE_PASSWORD=keystore-secret sh certificates.sh broker1 broker2 controller1
# NODE=HOST,HOST gives a node other names or addresses than its own. Each certificate has the subject CN=kafka.
set -eu
umask 077
: "${STORE_PASSWORD:?the password of the keystores}"
if [ ! -e ca.key ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca.pem -days 3650 -subj /CN=ca
    chmod a+r ca.pem
fi
for node in "$@"; do
    name=${node%%=*}
    names=$(printf %s "${node#*=}" | tr , '\n' | sed -E 's/^[0-9.]+$/IP:&/; t; s/^/DNS:/' | paste -s -d , -)
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$name.key" -out "$name.csr" -subj /CN=kafka
    printf 'subjectAltName=%s\n' "$names" > "$name.ext"
    openssl x509 -req -in "$name.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 365 -extfile "$name.ext" -out "$name.pem"
    openssl pkcs12 -export -name kafka -inkey "$name.key" -in "$name.pem" -passout env:STORE_PASSWORD -out "$name.p12"
    rm "$name.key" "$name.csr" "$name.ext" "$name.pem"
    echo "$name.p12: CN=kafka, $names"
done
