package samples

import (
	"encoding/base64"
	"strings"
)

// LookAlikes are texts that hold no secret and look as if they did, drawn anew each time.
func LookAlikes(r *Random) []string {
	sha, sum := r.Of(40, hex), r.Of(64, hex)
	uuid := r.Of(8, hex) + "-" + r.Of(4, hex) + "-4" + r.Of(3, hex) + "-a" + r.Of(3, hex) + "-" + r.Of(12, hex)
	return []string{
		"commit " + sha,
		"index " + sha[:7] + ".." + sha[7:14] + " 100644",
		"git diff " + sha[:12] + "..." + sha[12:24],
		"git log " + sha + ".." + r.Of(40, hex),
		"id: " + uuid,
		"session_id=" + uuid,
		`"request_id": "` + uuid + `"`,
		"sha512-" + r.base64(64),
		`integrity="sha384-` + r.base64(48) + `" crossorigin="anonymous"`,
		`"integrity": "sha512-` + r.base64(64) + `",`,
		"image: app@sha256:" + sum,
		sum + "  app.tar.gz",
		"golang.org/x/net v0.20.0 h1:" + r.base64(32),
		"golang.org/x/net v0.20.0/go.mod h1:" + r.base64(32),
		"arn:aws:iam::" + r.Of(12, "123456789") + ":role/app-" + r.Of(8, lower+digits),
		"arn:aws:secretsmanager:eu-1:" + r.Of(12, "123456789") + ":secret:db-" + r.Of(6, alnum),
		"01" + r.Of(24, upper[:8]+digits),
		"trace_id=" + r.Of(32, hex) + " span_id=" + r.Of(16, hex),
		"traceparent: 00-" + r.Of(32, hex) + "-" + r.Of(16, hex) + "-01",
		`<img src="data:image/png;base64,iVBORw0KGgo` + r.base64(120) + `">`,
		"-----BEGIN CERTIFICATE-----\n" + lines(r.base64(300), 64, "\n") + "\n-----END CERTIFICATE-----",
		"-----BEGIN PUBLIC KEY-----\n" + lines(r.base64(300), 64, "\n") + "\n-----END PUBLIC KEY-----",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + base64.RawStdEncoding.EncodeToString([]byte(r.Of(32, alnum))) + " joe@host",
		"    client-certificate-data: " + r.base64(300),
		"version: 1.2.3-rc.4+build." + sha[:8],
		"resolved \"https://registry.yarnpkg.com/a/-/a-1.0.0.tgz#" + sha + "\"",
		"checksum = \"" + sum + "\"",
		"ETag: \"" + r.Of(32, hex) + "\"",
		"nonce: the server sends a nonce of 16 bytes",
		"script-src 'nonce-" + r.base64(16) + "'",
		"main." + r.Of(8, hex) + ".chunk.js", "static/css/main." + r.Of(8, hex) + ".css?v=" + r.Of(8, hex),
		`!function(e,t){"use strict";var n=t(7294),r=t.n(n);e.exports=r}(this,function(e){return e})`,
		".btn{color:#1a2b3c;background:url(/img/a1b2c3.png)}.key{width:12px}",
		"password: string", "password?: string | null", `"password": "string"`, "password String  @db.VarChar(255)",
		"Password must be at least 8 characters", `"password": "The password field is required."`, `placeholder="Password"`,
		"passphrase: leave it empty for a key without one", "Enter passphrase for key '/root/.ssh/id_ed25519':",
		"user.getPassword()", "const password = req.body.password;", "password := os.Getenv(\"DB_PASSWORD\")",
		"password=get_secret2(name)", "if password == user.password2:", `password: z.string().min(8)`, `password = self.config2.password`,
		"token_count: 512", "max_tokens=4096, tokens_per_minute=120000", "tokens: 1523, cached: 200", "next_page_token: null",
		"secretKeyRef:\n  name: db-credentials2\n  key: password1", "secretName: app-tls2", "kind: Secret\nmetadata:\n  name: db1",
		"PGPASSWORD=$PGPASSWORD psql", "PGPASSWORD=\"${DB_PASS1}\" psql", "password: ${{ secrets.DB_PASSWORD1 }}", "password: {{ .Values.db.password1 }}",
		"API_KEY=<your-api-key-1>", "API_KEY=$(cat key1)", "api_key = settings.API_KEY_1", `api_key=os.environ["OPENAI_API_KEY1"]`,
		"https://example.com/a:b@c", "postgres://user:password@localhost/db", "git@github.com:acme/app1.git",
		"pip install hf_transfer hf_xet2", "from hf_utils_v2 import load", "sk-learn 1.4.2", "npm_config_registry=https://registry.npmjs.org", "npm_lifecycle_event=test1",
		"pwd: /home/user1/project2", "PWD=/root/x86", "primary_key=user_id_2", "foreign key (org_id_2) references orgs", "cache_key=users:list:page2",
		"keyword=token1 author=joe2", "mnemonic: a short name that is easy to recall for people who use it",
		"src/auth/token_store.go:12: func secretKey() string", "monkey-patch keyboard1", "--pass-through 12 files", "  -p, --password string   Password of registry v2",
		"Set-Cookie: none", "the cookie: see chapter 12", "cookie-parser: ^1.4.6", "curl -u user https://x.test/v1", "mysql -P 3306 --protocol=tcp", "echo $1$2 | awk '{print $1}'",
		"sig=none", "x-amz-signature is missing", "https://cdn.test/a.js?v=" + r.Of(16, hex), "AKIAIOSFODNN7EXAMPLE",
		strings.Repeat("a", 40), strings.Repeat("0", 64), "0x" + r.Of(40, hex) + " is the contract's address", "telegram: @some_bot1", "10:30:AA block",
	}
}
