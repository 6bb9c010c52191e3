package samples

import "strings"

// field is a name with a value, as formats write it.
func (r *Random) field(name, secret string) Sample {
	forms := []Sample{
		{name + "=", secret, "\n"}, {name + ": ", secret, "\n"}, {`{"` + name + `": "`, secret, `"}`}, {`"` + name + `":"`, secret, `","x":1`},
		{name + ` = "`, secret, "\"\n"}, {"  " + name + ": '", secret, "'\n"}, {`{\"` + name + `\":\"`, secret, `\"}`}, {name + "='", secret, "' ./run\n"},
	}
	return forms[r.IntN(len(forms))]
}

func (r *Random) env(name, secret string) Sample {
	forms := []Sample{
		{"export " + name + "=", secret, "\n"}, {name + "='", secret, "'\n"}, {name + `="`, secret, "\" ./run\n"}, {"      - " + name + "=", secret, "\n"}, {"ENV " + name + "=", secret, "\n"},
		{`"` + name + `": "`, secret, `",`}, {name + ": ", secret, "\n"},
	}
	return forms[r.IntN(len(forms))]
}

func field(kind string, secret func(r *Random) string, names ...string) Kind {
	return Kind{kind, func(r *Random) Sample { return r.field(r.One(names...), secret(r)) }}
}

func env(kind string, secret func(r *Random) string, names ...string) Kind {
	return Kind{kind, func(r *Random) Sample { return r.env(r.One(names...), secret(r)) }}
}

func (r *Random) chosen() string     { return r.password(8+r.IntN(16), "") }
func (r *Random) punctuated() string { return r.password(12+r.IntN(12), signs+"!@#%^*{}(),;:-_=[]") }

func named() []Kind {
	long := func(r *Random) string { return r.password(32+r.IntN(16), "") }
	return []Kind{
		field("password", (*Random).chosen, "password", "db_password", "passwd", "PASSWORD", "user.password", "smtpPassword"),
		field("pwd", (*Random).chosen, "pwd", "userPwd"),
		in("punctuated password in YAML", func(r *Random) Sample { return Sample{"db:\n  password: ", r.punctuated(), "\n  port: 5432\n"} }),
		in("quoted punctuated password", func(r *Random) Sample {
			return Sample{`password: "`, r.password(20, signs+"'(),;:{}<>[]&|"), "\"\n"}
		}),
		in("passphrase with blanks", func(r *Random) Sample {
			return Sample{r.One("passphrase: ", "ssh_passphrase: ", `passphrase = "`, `"passphrase": "`), r.words(5), r.One("\n", "\"\n")}
		}),
		in("password with blanks", func(r *Random) Sample { return Sample{`password = "`, r.words(4), "\"\n"} }),
		in("password in XML", func(r *Random) Sample {
			return Sample{"<server><password>", r.chosen(), "</password></server>"}
		}),
		in("password in a query", func(r *Random) Sample { return Sample{"GET /login?user=a&password=", r.chosen(), "&next=/ HTTP/1.1\n"} }),
		in("connection string", func(r *Random) Sample {
			return Sample{"Server=db;User Id=app;Password=", r.password(14, ""), ";Encrypt=true\n"}
		}),
		in("jdbc", func(r *Random) Sample {
			return Sample{"jdbc:postgresql://db/app?user=app&password=", r.chosen(), "&ssl=true\n"}
		}),
		in("libpq", func(r *Random) Sample {
			return Sample{`psql "host=db user=app password=`, r.chosen(), " dbname=app\"\n"}
		}),
		field("api key", long, "api_key", "apiKey", "API-KEY", "x-api-key"),
		field("secret", long, "client_secret", "clientSecret", "app_secret", "secret"),
		field("access token", long, "access_token", "accessToken"),
		field("refresh token", long, "refresh_token", "refreshToken", "REFRESH_TOKEN"),
		field("auth token", long, "auth_token", "_authToken"),
		field("access key", long, "access_key", "secret_access_key", "aws_secret_access_key"),
		field("private key", func(r *Random) string { return "0x" + r.Of(64, hex) }, "private_key", "PRIVATE_KEY"),
		field("wireguard", func(r *Random) string { return r.base64(32) }, "PrivateKey", "PresharedKey"),
		env("rails master key", func(r *Random) string { return r.Of(32, hex) }, "RAILS_MASTER_KEY"),
		env("pgpassword", (*Random).chosen, "PGPASSWORD"),
		in("punctuated pgpassword", func(r *Random) Sample {
			return Sample{"PGPASSWORD='", r.password(16, signs+"$&();|<>{}[]"), "' psql -h db\n"}
		}),
		env("environment token", long, "GITHUB_TOKEN", "NPM_TOKEN", "DISCORD_TOKEN", "DEPLOY_TOKEN"),
		env("environment secret", long, "JWT_SECRET", "SESSION_SECRET", "NEXTAUTH_SECRET", "AWS_SECRET_ACCESS_KEY"),
		env("environment password", (*Random).chosen, "DB_PASSWORD", "REDIS_PASSWORD", "MYSQL_ROOT_PASSWORD", "POSTGRES_PASSWORD"),
		env("aws session token", func(r *Random) string { return r.base64(220) }, "AWS_SESSION_TOKEN"),
		in("django", func(r *Random) Sample { return Sample{"SECRET_KEY = '", r.Of(50, django), "'\n"} }),
		in("django insecure", func(r *Random) Sample { return Sample{`SECRET_KEY = "django-insecure-`, r.Of(50, django), "\"\n"} }),
		in("bindpw", func(r *Random) Sample {
			return Sample{r.One("bindpw ", "bindpw: ", "bindpw = ", "bind_pw="), r.chosen(), "\n"}
		}),
		in("mnemonic of 12", func(r *Random) Sample {
			return Sample{r.One("mnemonic: ", `"mnemonic": "`, `MNEMONIC="`, "seed phrase: ", "Recovery phrase:\n"), r.words(12), r.One("\n", "\"\n")}
		}),
		in("mnemonic of 24", func(r *Random) Sample {
			return Sample{r.One("mnemonic: ", `SEED_PHRASE="`, "recovery_phrase = '"), r.words(24), "\n"}
		}),
		in("azure storage", func(r *Random) Sample {
			return Sample{"DefaultEndpointsProtocol=https;AccountName=logs;AccountKey=", r.base64(64), ";EndpointSuffix=core.windows.net\n"}
		}),
		in("azure client secret", func(r *Random) Sample {
			return Sample{"AZURE_CLIENT_SECRET=", r.Of(3, alnum) + "8Q~" + r.Of(34, alnum), "\n"}
		}),
		in("mailchimp", func(r *Random) Sample { return Sample{"MAILCHIMP_API_KEY=", r.Of(32, hex) + "-us12", "\n"} }),
		in("mailgun", func(r *Random) Sample { return Sample{"mailgun private key: key-", r.Of(32, hex), "\n"} }),
		in("otpauth", func(r *Random) Sample {
			return Sample{"otpauth://totp/app:joe?secret=", r.Of(32, base32), "&issuer=app\n"}
		}),
		in("authorization bearer", func(r *Random) Sample {
			return Sample{r.One("Authorization: Bearer ", `"authorization": "Bearer `, "-H 'authorization: bearer "), r.Of(40, url64), r.One("\n", "'\n", "\"\n")}
		}),
		in("authorization basic", func(r *Random) Sample { return Sample{"> Authorization: Basic ", r.base64(24), "\n"} }),
		in("authorization token", func(r *Random) Sample { return Sample{"Authorization: Token ", r.Of(40, hex), "\r\n"} }),
		in("private token header", func(r *Random) Sample {
			return Sample{`curl -H "PRIVATE-TOKEN: `, r.password(24, "-_"), "\" https://git.test/api\n"}
		}),
	}
}

func inURLs() []Kind {
	return []Kind{
		in("postgres URL", func(r *Random) Sample { return Sample{"postgres://app:", r.chosen(), "@db.local:5432/app\n"} }),
		in("mongodb URL", func(r *Random) Sample {
			return Sample{"mongodb+srv://app:", r.chosen(), "@c0.mongodb.net/?w=majority\n"}
		}),
		in("redis URL", func(r *Random) Sample { return Sample{"redis://:", r.chosen(), "@cache:6379/0\n"} }),
		in("URL password with signs", func(r *Random) Sample { return Sample{"amqp://app:", r.password(16, "!*$&,;=@"), "@mq:5672\n"} }),
		in("git remote", func(r *Random) Sample {
			return Sample{"git push https://x:", "gh" + "p_" + r.Of(36, alnum), "@github.com/a/b.git main\n"}
		}),
		in("git remote without a user", func(r *Random) Sample { return Sample{"origin https://", r.Of(40, hex), "@git.test/a/b.git (push)\n"} }),
		in("sentry dsn", func(r *Random) Sample {
			return Sample{"SENTRY_DSN=https://", r.Of(32, hex), "@o12345.ingest.sentry.io/67890\n"}
		}),
		in("azure sas", func(r *Random) Sample {
			sig := strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(r.base64(32))
			return Sample{"https://a.blob.core.windows.net/c/f?sv=2022-11-02&st=2026-01-01T00%3A00%3A00Z&sr=b&sp=r&sig=", sig, r.One("\n", "&se=2027\n", "\"")}
		}),
		in("s3 signature", func(r *Random) Sample {
			return Sample{"https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=900&X-Amz-Signature=", r.Of(64, hex), r.One("\n", "&x-id=GetObject\n")}
		}),
		in("s3 security token", func(r *Random) Sample {
			return Sample{"https://b.s3.amazonaws.com/k?X-Amz-Date=20260101T000000Z&X-Amz-Security-Token=", "IQoJ" + r.Of(300, alnum+"%"), "&X-Amz-SignedHeaders=host\n"}
		}),
		in("security token header", func(r *Random) Sample { return Sample{"X-Amz-Security-Token: ", "IQoJ" + r.base64(240), "\n"} }),
		in("slack webhook", func(r *Random) Sample {
			return Sample{"https://hooks.slack.com/services/", "T" + r.Of(10, upper+digits) + "/B" + r.Of(10, upper+digits) + "/" + r.Of(24, alnum), "\n"}
		}),
		in("discord webhook", func(r *Random) Sample {
			return Sample{"https://discord.com/api/webhooks/" + r.Of(18, "123456789") + "/", r.Of(68, url64), "\n"}
		}),
		in("telegram URL", func(r *Random) Sample {
			return Sample{"https://api.telegram.org/bot", r.Of(10, "123456789") + ":A" + "A" + r.Of(33, url64), "/sendMessage\n"}
		}),
		in("token in a query", func(r *Random) Sample {
			return Sample{"wss://feed.test/ws?access_token=", r.password(40, ""), "&v=2\n"}
		}),
		in("cookie", func(r *Random) Sample {
			return Sample{r.One("Cookie: ", "> cookie: ", "curl -H 'Cookie: ") + "theme=dark; " + r.One("sessionid=", "connect.sid=", "auth="), r.Of(32, alnum), r.One("\n", "; lang=en\n", "' https://x.test\n")}
		}),
		in("set-cookie", func(r *Random) Sample {
			return Sample{r.One("Set-Cookie: ", "< set-cookie: ", `"Set-Cookie": "`) + "sid=", r.Of(40, alnum), "; Path=/; HttpOnly\n"}
		}),
	}
}

func inFiles() []Kind {
	pem := func(kind, begin, end string) Kind {
		return in(kind, func(r *Random) Sample {
			return Sample{"-----BEGIN" + begin + "-----\n", lines(r.base64(600), 64, "\n"), "\n-----END" + end + "-----\nrest\n"}
		})
	}
	return []Kind{
		pem("rsa key", " RSA PRIV"+"ATE KEY", " RSA PRIV"+"ATE KEY"),
		pem("ec key", " EC PRIV"+"ATE KEY", " EC PRIV"+"ATE KEY"),
		pem("openssh key", " OPENSSH PRIV"+"ATE KEY", " OPENSSH PRIV"+"ATE KEY"),
		pem("pgp key", " PGP PRIV"+"ATE KEY BLOCK", " PGP PRIV"+"ATE KEY BLOCK"),
		in("key in JSON", func(r *Random) Sample {
			return Sample{`"private_key": "-----BEGIN PRIV` + `ATE KEY-----\n`, lines(r.base64(600), 64, `\n`), `\n-----END PRIV` + `ATE KEY-----\n",`}
		}),
		in("key without its end", func(r *Random) Sample {
			return Sample{"-----BEGIN PRIV" + "ATE KEY-----\n", lines(r.base64(480), 64, "\n"), "\n\nmore\n"}
		}),
		in("key without its beginning", func(r *Random) Sample {
			return Sample{"$ tail -5 key.pem\n", lines(r.base64(240), 64, "\n"), "\n-----END PRIV" + "ATE KEY-----\n"}
		}),
		in("encrypted key", func(r *Random) Sample {
			return Sample{"-----BEGIN RSA PRIV" + "ATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n", lines(r.base64(600), 64, "\n"), "\n"}
		}),
		in("shadow sha512", func(r *Random) Sample {
			return Sample{"root:", "$6$" + r.Of(16, alnum+"./") + "$" + r.Of(86, alnum+"./"), ":19000:0:99999:7:::\n"}
		}),
		in("shadow yescrypt", func(r *Random) Sample {
			return Sample{"app:", "$y$j9T$" + r.Of(22, alnum+"./") + "$" + r.Of(43, alnum+"./"), ":19000:0:99999:7:::\n"}
		}),
		in("ldap hash", func(r *Random) Sample { return Sample{"userPassword: {SSHA}", r.base64(28), "\n"} }),
		in("docker config", func(r *Random) Sample {
			return Sample{`{"auths":{"https://index.docker.io/v1/":{"auth":"`, r.base64(30), `"}}}`}
		}),
		in("npmrc", func(r *Random) Sample { return Sample{"//registry.npmjs.org/:_authToken=", r.password(36, ""), "\n"} }),
		in("netrc", func(r *Random) Sample { return Sample{"machine git.test login joe password ", r.chosen(), "\n"} }),
		in("kubeconfig", func(r *Random) Sample { return Sample{"    client-key-data: ", r.base64(300), "\n"} }),
		in("nats seed", func(r *Random) Sample {
			return Sample{"-----BEGIN USER NKEY SEED-----\n", "SU" + r.Of(56, base32), "\n------END USER NKEY SEED------\n"}
		}),
		in("properties", func(r *Random) Sample { return Sample{"spring.datasource.password=", r.punctuated(), "\n"} }),
		in("python settings", func(r *Random) Sample { return Sample{"    'PASSWORD': '", r.password(16, signs+"&()$"), "',\n"} }),
	}
}

func inCommands() []Kind {
	return []Kind{
		in("mysql", func(r *Random) Sample { return Sample{"mysql -h db -u root -p", r.chosen(), " app\n"} }),
		in("sshpass", func(r *Random) Sample { return Sample{"sshpass -p ", r.chosen(), " ssh host\n"} }),
		in("sshpass quoted", func(r *Random) Sample { return Sample{"sshpass -p '", r.password(14, signs+" $&"), "' ssh host\n"} }),
		in("curl user", func(r *Random) Sample { return Sample{"curl -s -u joe:", r.chosen(), " https://x.test\n"} }),
		in("curl user quoted", func(r *Random) Sample { return Sample{"curl -u 'joe:", r.chosen(), "' https://x.test\n"} }),
		in("password option", func(r *Random) Sample {
			return Sample{"login --password" + r.One(" ", "="), r.chosen(), " --server x\n"}
		}),
		in("docker login", func(r *Random) Sample { return Sample{"docker login -u joe -p ", r.chosen(), " registry.test\n"} }),
		in("redis-cli", func(r *Random) Sample { return Sample{"redis-cli -h cache -a ", r.chosen(), " ping\n"} }),
		in("token option", func(r *Random) Sample {
			return Sample{"deploy --token" + r.One(" ", "="), r.password(32, ""), " --env prod\n"}
		}),
	}
}
