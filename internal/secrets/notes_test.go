package secrets

// plainNotes are what agents remember, one a line: no secret is in them, though
// many speak of some.
const plainNotes = `
Ana prefers tea over coffee and wants the summary before nine.
Deploys go out on Tuesdays; never on a Friday afternoon, see [[mem/how-to/release]].
The staging database lives at postgres://db.staging.internal:5432/app and needs a tunnel.
CI token rotation is on the first of the month; Mara does it.
The password policy asks for twelve characters, one digit and one sign.
Password resets go through the help desk; the link expires after 15 minutes.
Do not log the password. The password is hashed with argon2id before it is stored.
We decided that the API key is read from /run/secrets/api_key and never from argv.
Event 3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaefa459d1 is the announcement of version 2.
His npub is npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6 and he answers in the evening.
sha256 of the release: 7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e  engramd.tar.zst
Certificate fingerprint (SHA256) 3B:F0:C6:3F:CB:93:46:34:07:AF:97:A5:E5:EE:64:FA:88:3D:10:7E:F9:E5:58:47:2C:4E:B9:AA:EF:A4:59:D1
commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fixes the secret scanner's false alarm.
The build uses go1.26.8 with the tags sqlite_fts5 and libsecp256k1.
Private meeting room 4 is booked under the key account team until March.
The token budget for summaries is 2000 per message; above 4000 we split.
Seed data for the tests is in testdata/seeds; run make seed before the suite.
The seed phrase of the demo wallet is on paper in the safe, not here.
She said the secret of good bread is time, water and salt.
Access keys are rotated by the pipeline; see runbook section 7.3.
If login fails with "password is incorrect", look at the clock of the machine first.
Error seen: pq: password authentication failed for user "app1".
The form has fields: name, email, password: string, remember: boolean.
Set password_min_length = 12 and password_history = 5 in the realm.
curl -u "$USER:$PASS" https://api.example/v1/items returns 200.
Connection strings look like scheme://user:password@host:port/name in the guide.
UUID of the tenant: 550e8400-e29b-41d4-a716-446655440000
Invoice 2026-11-0042 was paid; the reference is RF18 5390 0754 7034.
IBAN DE89 3704 0044 0532 0130 00 belongs to the club.
MAC of the printer 00:1b:44:11:3a:b7, of the scanner 00:1b:44:11:3a:b8.
The relay's URL is wss://relay.example, its public key 32e1827635450ebb3c5a7d12c1f8e7b2b514439ac10a67eef3d9fd9c5c68e245.
Base64 of the icon starts with iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk.
The e-mail header said dkim=pass header.i=@example.org; spf=pass smtp.mailfrom=x@example.org
Passphrase rules: four words, no names. Passcode for the door changes weekly; ask Will.
pwd shows /srv/notes/run-17 and the config is in ../conf.d/10-main.toml
She lives between the river and the old town, third door on the left, ring twice.
Trip plan: train at 07:42, museum until noon, lunch near the bridge, bus 31 home.
Recipe: 500 g flour, 350 ml water, 10 g salt, 3 g yeast; bake 45 min at 230 degrees.
The owner wants monthly reports as PDF, weekly ones as plain text, none on holidays.
Glossary: nsec is the secret key in bech32, npub the public one, nevent a pointer.
Bug: secrets.Find takes 3 ms for 64 KiB; linear, measured with BenchmarkFind.
ssh key of the agent: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl agent@host
Meeting notes: wallet team wants 2 reviewers; phrase the question so that legal can answer.
The private beta starts with 25 people; token is a working title for the badge.
Kubernetes: secretKeyRef name: db-credentials key: password
Terraform: password = random_password.db.result, stored in the state; lock the bucket.
Docker: POSTGRES_PASSWORD_FILE=/run/secrets/pg mounts the file at start.
Ansible: vault_password_file = ~/.vault and ask_vault_pass = false
GitHub Actions: password: ${{ secrets.REGISTRY_TOKEN }} in the login step.
Use the passwordless link for guests; it is valid for 24 hours.
His password manager is 1Password, hers is KeePassXC 2.7; both sync to the NAS.
The old wiki said "password: ask Bernd", which nobody can do since 2019.
Password hint in the ticket: the usual one (see the sealed envelope).
Default password is printed on the label below the router.
Quote: "A password is like a toothbrush: choose a good one and do not share it."
JSON schema: {"type":"object","properties":{"password":{"type":"string","minLength":12}}}
SQL: ALTER ROLE app WITH PASSWORD NULL VALID UNTIL 'infinity';
Rust: let password: String = prompt()?; Python: password: str = Field(min_length=12)
https://x.example/reset?user=ana&step=2 is the page where the password is entered.
above across action actual adapt address: six words of a list in a row mean nothing.
`
