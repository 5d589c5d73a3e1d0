// node token.mjs [rw|ro] [DAYS]: prints a token for the server of compose.yaml, by default for reading and writing, for 30 days. The first
// time it makes the keys: jwt.pem, which the server checks tokens with, and jwt.key, which signs them and must stay secret.
import { createPrivateKey, generateKeyPairSync, sign } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"

const [access = "rw", days = "30"] = process.argv.slice(2)
const file = (name) => new URL(name, import.meta.url)

if (!existsSync(file("jwt.key"))) {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  writeFileSync(file("jwt.key"), privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 })
  writeFileSync(file("jwt.pem"), publicKey.export({ type: "spki", format: "pem" }))
}

const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url")
const claims = { a: access, exp: Math.floor(Date.now() / 1000) + Number(days) * 86_400 }
const signed = `${part({ alg: "EdDSA", typ: "JWT" })}.${part(claims)}`
const signature = sign(null, Buffer.from(signed), createPrivateKey(readFileSync(file("jwt.key"))))
process.stdout.write(`${signed}.${signature.toString("base64url")}\n`)
