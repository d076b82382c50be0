BEGIN TRANSACTION;
CREATE TABLE access_tokens (
	pk INTEGER NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	scopes TEXT NOT NULL, 
	rights TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	expires_at BIGINT, 
	revoked_at BIGINT, 
	CONSTRAINT pk_access_tokens PRIMARY KEY (pk), 
	CONSTRAINT uq_access_tokens_digest UNIQUE (digest)
);
INSERT INTO "access_tokens" VALUES(1,'laptop','24f81eb2ee4d17fa2ac3085dfa9bda9287148670032441bfd653803606eb4a2b','["acme/*/*"]','["read"]',1795511040000000,NULL,NULL);
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num));
INSERT INTO "alembic_version" VALUES('0026');
CREATE TABLE busy_holders (
	workspace VARCHAR(128) NOT NULL, 
	observer VARCHAR(128) NOT NULL, 
	observed VARCHAR(128) NOT NULL, 
	holder VARCHAR(64) NOT NULL, 
	host TEXT NOT NULL, 
	pid INTEGER NOT NULL, 
	process_started TEXT NOT NULL, 
	since BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, 
	CONSTRAINT pk_busy_holders PRIMARY KEY (workspace, observer, observed, holder)
);
CREATE TABLE change_feed (
	scope_id INTEGER NOT NULL, 
	revision BIGINT NOT NULL, 
	recorded_at BIGINT NOT NULL, 
	origin VARCHAR(16) NOT NULL, 
	removed TEXT, 
	removed_turns TEXT, 
	removed_skills TEXT, 
	actor TEXT, 
	CONSTRAINT pk_change_feed PRIMARY KEY (scope_id, revision), 
	CONSTRAINT fk_change_feed_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "change_feed" VALUES(1,1,1795510800000000,'host',NULL,NULL,NULL,'host');
INSERT INTO "change_feed" VALUES(1,2,1795510800000000,'host',NULL,NULL,NULL,'host');
INSERT INTO "change_feed" VALUES(1,3,1795510860000000,'host',NULL,NULL,NULL,'host');
INSERT INTO "change_feed" VALUES(1,4,1795510920000000,'host',NULL,NULL,NULL,'host');
INSERT INTO "change_feed" VALUES(1,5,1795510980000000,'host',NULL,NULL,NULL,'host');
INSERT INTO "change_feed" VALUES(1,6,1795511040000000,'host',NULL,NULL,NULL,'host');
INSERT INTO "change_feed" VALUES(1,7,1795511040000000,'host','[5]',NULL,NULL,'host');
INSERT INTO "change_feed" VALUES(2,1,1795511040000000,'host',NULL,NULL,NULL,'host');
INSERT INTO "change_feed" VALUES(1,8,1795511040000000,'host',NULL,NULL,NULL,'host');
INSERT INTO "change_feed" VALUES(1,9,1795511040000000,'host',NULL,NULL,NULL,'host');
INSERT INTO "change_feed" VALUES(1,10,1795511040000000,'host',NULL,NULL,NULL,'host');
INSERT INTO "change_feed" VALUES(1,11,1795511040000000,'dream',NULL,NULL,NULL,'host');
CREATE TABLE cursors (
	scope_id INTEGER NOT NULL, 
	reader VARCHAR(64) NOT NULL, 
	position BIGINT NOT NULL, 
	reads VARCHAR(16) DEFAULT 'entries' NOT NULL, 
	CONSTRAINT pk_cursors PRIMARY KEY (scope_id, reader), 
	CONSTRAINT fk_cursors_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "cursors" VALUES(1,'exact-fold',5,'entries');
INSERT INTO "cursors" VALUES(1,'near-duplicates',5,'entries');
CREATE TABLE decisions (
	scope_id INTEGER NOT NULL, 
	fingerprint VARCHAR(64) NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	decided_at BIGINT NOT NULL, 
	CONSTRAINT pk_decisions PRIMARY KEY (scope_id, fingerprint), 
	CONSTRAINT fk_decisions_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE documents (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	content TEXT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	own TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	CONSTRAINT pk_documents PRIMARY KEY (pk), 
	CONSTRAINT uq_documents_scope_id_id UNIQUE (scope_id, id), 
	CONSTRAINT fk_documents_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE entries (
	pk INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	scope_id INTEGER NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	content TEXT NOT NULL, 
	category TEXT NOT NULL, 
	tags TEXT NOT NULL, 
	base FLOAT NOT NULL, 
	created_at BIGINT NOT NULL, 
	recorded_at BIGINT NOT NULL, 
	updated_at BIGINT, 
	last_seen_at BIGINT NOT NULL, 
	own_count INTEGER NOT NULL, 
	absorbed TEXT NOT NULL, 
	reinforcement_count INTEGER NOT NULL, 
	subject_time TEXT, 
	metadata TEXT NOT NULL, 
	level VARCHAR(16) NOT NULL, 
	sources TEXT NOT NULL, 
	trust INTEGER NOT NULL, 
	pinned BOOLEAN NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	status_reason TEXT, 
	successor VARCHAR(64), 
	status_at BIGINT, 
	version INTEGER NOT NULL, 
	revision BIGINT NOT NULL, 
	position BIGINT NOT NULL, 
	fold_key VARCHAR(32) NOT NULL, 
	evidence TEXT, 
	valid_until VARCHAR(16), 
	pattern VARCHAR(16), 
	confidence VARCHAR(8), 
	premises TEXT, 
	CONSTRAINT uq_entries_scope_id_id UNIQUE (scope_id, id), 
	CONSTRAINT fk_entries_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "entries" VALUES(1,1,'b8b29de1e0559427','Ana likes green tea','people','["known"]',0.5,1795510800000000,1795510800000000,NULL,1795510800000000,1,'[]',1,'2025-05','{}','explicit','[]',2,0,'active',NULL,NULL,NULL,1,2,2,'dec85d1032e79bd1b781f8a2ab04502c',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "entries" VALUES(2,1,'eedcd53ee476bf67','Ana lives in Lisbon','people','["known"]',0.5,1795510860000000,1795510860000000,NULL,1795510860000000,1,'[]',1,'2025-05','{}','explicit','[]',2,0,'active',NULL,NULL,NULL,1,3,3,'ee582c3005df49ef4fddaff08e8209f1',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "entries" VALUES(3,1,'1f9f11c7d4fba2d6','Ben plays the trombone in the Lisbon harbour orchestra on Fridays','people','["known"]',0.5,1795510920000000,1795510920000000,NULL,1795510920000000,1,'[]',1,'2025-05','{}','explicit','[]',2,0,'active',NULL,NULL,NULL,1,4,4,'0411e8799d236cf488114b9fb64ca4ab',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "entries" VALUES(4,1,'ee3c5cf7a1affc3d','Ben plays the trombone in the Lisbon harbour orchestra on Mondays','people','["known"]',0.5,1795510980000000,1795510980000000,NULL,1795510980000000,1,'[]',1,'2025-05','{}','explicit','[]',2,0,'active',NULL,NULL,NULL,1,5,5,'acee6391bde976a1752584637362d5e9',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "entries" VALUES(6,2,'13b5925569f6c7c4','Ben likes coffee','general','[]',0.5,1795511040000000,1795511040000000,NULL,1795511040000000,1,'[]',1,NULL,'{}','explicit','[]',2,0,'active',NULL,NULL,NULL,1,1,1,'371eacd4245d26b570751b05326a9f56',NULL,NULL,NULL,NULL,NULL);
CREATE TABLE entry_sources (
	scope_id INTEGER NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	source_id VARCHAR(64) NOT NULL, 
	entry_pk INTEGER NOT NULL, 
	CONSTRAINT pk_entry_sources PRIMARY KEY (scope_id, kind, source_id, entry_pk), 
	CONSTRAINT fk_entry_sources_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE erasures (
	pk INTEGER NOT NULL, 
	workspace VARCHAR(128) NOT NULL, 
	observer VARCHAR(128) NOT NULL, 
	observed VARCHAR(128) NOT NULL, 
	erased_at BIGINT NOT NULL, 
	finished_at BIGINT, 
	removed TEXT NOT NULL, 
	CONSTRAINT pk_erasures PRIMARY KEY (pk)
);
CREATE TABLE feedback (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	session_id TEXT NOT NULL, 
	kind VARCHAR(32) NOT NULL, 
	summary TEXT NOT NULL, 
	detail TEXT, 
	rating VARCHAR(16), 
	occurred_at BIGINT NOT NULL, 
	recorded_at BIGINT NOT NULL, 
	CONSTRAINT pk_feedback PRIMARY KEY (pk), 
	CONSTRAINT uq_feedback_scope_id_id UNIQUE (scope_id, id), 
	CONSTRAINT fk_feedback_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "feedback" VALUES(1,1,'ad9fd5a908886263','s1','thumbs_up','Good.',NULL,NULL,1795511040000000,1795511040000000);
CREATE TABLE forgotten (
	scope_id INTEGER NOT NULL, 
	fingerprint VARCHAR(64) NOT NULL, 
	forgotten_at BIGINT NOT NULL, 
	CONSTRAINT pk_forgotten PRIMARY KEY (scope_id, fingerprint), 
	CONSTRAINT fk_forgotten_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE hosts (
	holder VARCHAR(64) NOT NULL, 
	host TEXT NOT NULL, 
	pid INTEGER NOT NULL, 
	process_started TEXT NOT NULL, 
	started_at BIGINT NOT NULL, 
	stopped_at BIGINT, 
	options TEXT NOT NULL, 
	CONSTRAINT pk_hosts PRIMARY KEY (holder)
);
INSERT INTO "hosts" VALUES('0f8be5015a296495','vm',11313,'61d7e35fe7c74d9288e9eb4ce6e079ad.4026531836.1717399',1795510800000000,1795511040000000,'{"dreaming":{},"only_code":[],"parts":{},"scopes":[],"version":1}');
CREATE TABLE imports (
	scope_id INTEGER NOT NULL, 
	source_key VARCHAR(64) NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	record_id VARCHAR(64) NOT NULL, 
	CONSTRAINT pk_imports PRIMARY KEY (scope_id, source_key), 
	CONSTRAINT fk_imports_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE journal (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	step INTEGER NOT NULL, 
	pass_name VARCHAR(64) NOT NULL, 
	number INTEGER NOT NULL, 
	operation VARCHAR(32) NOT NULL, 
	record_kind VARCHAR(16) NOT NULL, 
	record_id VARCHAR(64) NOT NULL, 
	"before" TEXT, 
	"after" TEXT, 
	reason TEXT NOT NULL, 
	fingerprint VARCHAR(64), 
	recorded_at BIGINT NOT NULL, 
	scrubbed BOOLEAN DEFAULT 0 NOT NULL, 
	actor TEXT, 
	CONSTRAINT pk_journal PRIMARY KEY (pk), 
	CONSTRAINT fk_journal_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "journal" VALUES(1,1,'a4fbd1f852e41b84',2,'near-duplicates',1,'ask','question','4cf8641c5fa3060c55ad84168eb793f6',NULL,'{"asked_at":"2026-11-24T09:04:00Z","asked_by":"near-duplicates","cause":"near_duplicate","id":"4cf8641c5fa3060c55ad84168eb793f6","members":["entry:1f9f11c7d4fba2d6","entry:ee3c5cf7a1affc3d"],"similarity":0.6262,"state":"open","text":"Do these say the same, or is one of them out of date?"}','about 1f9f11c7d4fba2d6, ee3c5cf7a1affc3d','b62c2d785ad26d26092158a5475591f8',1795511040000000,0,'pass:near-duplicates');
CREATE TABLE known_copies (
	pk INTEGER NOT NULL, 
	scope_id INTEGER, 
	kind VARCHAR(16) NOT NULL, 
	place TEXT NOT NULL, 
	records BIGINT NOT NULL, 
	made_at BIGINT NOT NULL, 
	CONSTRAINT pk_known_copies PRIMARY KEY (pk)
);
CREATE TABLE leases (
	scope_id INTEGER NOT NULL, 
	name VARCHAR(64) NOT NULL, 
	holder VARCHAR(64) NOT NULL, 
	host TEXT NOT NULL, 
	pid INTEGER NOT NULL, 
	process_started TEXT NOT NULL, 
	token BIGINT NOT NULL, 
	acquired_at BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, 
	CONSTRAINT pk_leases PRIMARY KEY (scope_id, name), 
	CONSTRAINT fk_leases_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "leases" VALUES(1,'dream','cd506711ed5d4c95','vm',11313,'61d7e35fe7c74d9288e9eb4ce6e079ad.4026531836.1717399',1,1795511040000000,0);
CREATE TABLE memory_promotions (
	scope_id INTEGER NOT NULL, 
	entry_id VARCHAR(64) NOT NULL, 
	score FLOAT NOT NULL, 
	hits BIGINT NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	promoted_at BIGINT NOT NULL, 
	CONSTRAINT pk_memory_promotions PRIMARY KEY (scope_id, entry_id), 
	CONSTRAINT fk_memory_promotions_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE model_calls (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	pass_name VARCHAR(64) NOT NULL, 
	batch_key VARCHAR(64) NOT NULL, 
	attempt INTEGER NOT NULL, 
	record_ids TEXT NOT NULL, 
	answer TEXT, 
	finish_reason VARCHAR(32) NOT NULL, 
	model TEXT NOT NULL, 
	input_tokens INTEGER NOT NULL, 
	output_tokens INTEGER NOT NULL, 
	answered_at BIGINT NOT NULL, 
	is_estimated BOOLEAN DEFAULT 0 NOT NULL, 
	round_kind VARCHAR(16), 
	shown TEXT, 
	calls INTEGER DEFAULT '1' NOT NULL, 
	prompt BLOB, 
	CONSTRAINT pk_model_calls PRIMARY KEY (pk), 
	CONSTRAINT uq_model_calls_scope_id_run_id_pass_name_batch_key_attempt UNIQUE (scope_id, run_id, pass_name, batch_key, attempt), 
	CONSTRAINT fk_model_calls_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE model_failures (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	pass_name VARCHAR(64) NOT NULL, 
	batch_key VARCHAR(64) NOT NULL, 
	failure VARCHAR(32) NOT NULL, 
	model TEXT NOT NULL, 
	input_tokens INTEGER NOT NULL, 
	output_tokens INTEGER NOT NULL, 
	failed_at BIGINT NOT NULL, 
	attempt INTEGER DEFAULT '1' NOT NULL, 
	CONSTRAINT pk_model_failures PRIMARY KEY (pk), 
	CONSTRAINT fk_model_failures_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE off_limits_topics (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	words TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	version INTEGER NOT NULL, 
	CONSTRAINT pk_off_limits_topics PRIMARY KEY (pk), 
	CONSTRAINT uq_off_limits_topics_scope_id_id UNIQUE (scope_id, id), 
	CONSTRAINT fk_off_limits_topics_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "off_limits_topics" VALUES(1,1,'92e83a816a5b2f0e','my health',1795511040000000,1);
CREATE TABLE outbox (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	pass_name VARCHAR(64) NOT NULL, 
	document TEXT NOT NULL, 
	"before" TEXT, 
	"after" TEXT, 
	recorded_at BIGINT NOT NULL, 
	CONSTRAINT pk_outbox PRIMARY KEY (pk), 
	CONSTRAINT fk_outbox_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE pass_ledger (
	scope_id INTEGER NOT NULL, 
	pass_name VARCHAR(64) NOT NULL, 
	fingerprint VARCHAR(64), 
	run_id VARCHAR(64) NOT NULL, 
	completed_at BIGINT NOT NULL, 
	CONSTRAINT pk_pass_ledger PRIMARY KEY (scope_id, pass_name), 
	CONSTRAINT fk_pass_ledger_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "pass_ledger" VALUES(1,'exact-fold',NULL,'a4fbd1f852e41b84',1795511040000000);
INSERT INTO "pass_ledger" VALUES(1,'near-duplicates',NULL,'a4fbd1f852e41b84',1795511040000000);
INSERT INTO "pass_ledger" VALUES(1,'importance-decay',NULL,'a4fbd1f852e41b84',1795511040000000);
CREATE TABLE peers (
	pk INTEGER NOT NULL, 
	workspace VARCHAR(128) NOT NULL, 
	observed VARCHAR(128) NOT NULL, 
	active_at BIGINT, 
	changed_since BIGINT, 
	CONSTRAINT pk_peers PRIMARY KEY (pk), 
	CONSTRAINT uq_peers_workspace_observed UNIQUE (workspace, observed)
);
INSERT INTO "peers" VALUES(1,'default','agent',1795511040000000,1795510800000000);
INSERT INTO "peers" VALUES(2,'acme','ben',1795511040000000,1795511040000000);
CREATE TABLE phase_hits (
	scope_id INTEGER NOT NULL, 
	entry_id VARCHAR(64) NOT NULL, 
	phase VARCHAR(16) NOT NULL, 
	times INTEGER NOT NULL, 
	last_at BIGINT NOT NULL, 
	CONSTRAINT pk_phase_hits PRIMARY KEY (scope_id, entry_id, phase), 
	CONSTRAINT fk_phase_hits_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE plans (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	created_at BIGINT NOT NULL, 
	as_of BIGINT NOT NULL, 
	changes TEXT NOT NULL, 
	report TEXT NOT NULL, 
	CONSTRAINT pk_plans PRIMARY KEY (pk), 
	CONSTRAINT uq_plans_scope_id_id UNIQUE (scope_id, id), 
	CONSTRAINT fk_plans_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "plans" VALUES(1,1,'77e00216a1c2268b',1795511040000000,1795511040000000,'{"rows":[],"steps":[["importance-decay",{"batch":null,"planned_from":null,"proposal":{"backlog":0,"change_sets":[],"cursor":null,"done":true,"fingerprint":null,"for_review":[],"looked_at":[],"notes":{"at_floor":0,"entries":4,"faded":0},"phases":[],"promotions":[],"purges":[],"questions":[],"refused":[],"reopen":[],"settled":[],"undecided":[],"unsettled":[],"waits":null},"reader":"","reopen":[],"report":{"accepted":0,"backlog":0,"looked_at":0,"notes":{},"outputs":0,"proposed":0,"purged":0,"refused":[],"reopened":[],"retired":0,"seconds":0.0},"waited":[],"waits":[]}]]}','{"actor":null,"as_of":"2026-11-24T09:04:00Z","changes":0,"directives":{},"finished_at":"2026-11-24T09:04:00Z","kind":"dream","missed":null,"outcome":"unchanged","passes":[{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"retention","notes":{},"outcome":"unchanged","output_tokens":0,"proposed":0,"purged":0,"reason":"no_work","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"exact-fold","notes":{},"outcome":"unchanged","output_tokens":0,"proposed":0,"purged":0,"reason":"no_work","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"near-duplicates","notes":{},"outcome":"unchanged","output_tokens":0,"proposed":0,"purged":0,"reason":"no_work","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"importance-decay","notes":{"at_floor":0,"entries":4,"faded":0},"outcome":"unchanged","output_tokens":0,"proposed":0,"purged":0,"reason":"nothing_to_change","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"fact-mining","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"episodes","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"skill-gaps","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"preferences","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"memory-consolidation","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"deduction","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"disabled","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"induction","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"disabled","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"skill-consolidation","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"skill-optimization","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"wisp-failures","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm, wisps","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"log-consumption","notes":{},"outcome":"unchanged","output_tokens":0,"proposed":0,"purged":0,"reason":"no_work","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"promotion","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: workspace","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"rem","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: workspace","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"document-consolidation","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm, workspace","refused":[],"seconds":0.0}],"purged":0,"reason":null,"resumed":false,"run_id":"46659561460006f0","scope":"default/agent/agent","started_at":"2026-11-24T09:04:00Z","target":null,"trigger":null}');
CREATE TABLE prompt_texts (
	scope_id INTEGER NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	text BLOB NOT NULL, 
	used_at BIGINT NOT NULL, 
	CONSTRAINT pk_prompt_texts PRIMARY KEY (scope_id, hash), 
	CONSTRAINT fk_prompt_texts_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE proposals (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	pass_name VARCHAR(64) NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	changes TEXT, 
	marks TEXT NOT NULL, 
	looks_again TEXT NOT NULL, 
	proposed_at BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, 
	CONSTRAINT pk_proposals PRIMARY KEY (pk), 
	CONSTRAINT uq_proposals_scope_id_id UNIQUE (scope_id, id), 
	CONSTRAINT fk_proposals_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE questions (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	cause VARCHAR(32) NOT NULL, 
	members TEXT NOT NULL, 
	text TEXT NOT NULL, 
	asked_at BIGINT NOT NULL, 
	asked_by VARCHAR(128) NOT NULL, 
	similarity FLOAT, 
	state VARCHAR(16) NOT NULL, 
	verdict VARCHAR(16), 
	result VARCHAR(128), 
	answered_by VARCHAR(128), 
	answered_at BIGINT, 
	reason TEXT, 
	version INTEGER NOT NULL, 
	CONSTRAINT pk_questions PRIMARY KEY (pk), 
	CONSTRAINT uq_questions_scope_id_id UNIQUE (scope_id, id), 
	CONSTRAINT fk_questions_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "questions" VALUES(1,1,'4cf8641c5fa3060c55ad84168eb793f6','near_duplicate','["entry:1f9f11c7d4fba2d6","entry:ee3c5cf7a1affc3d"]','Do these say the same, or is one of them out of date?',1795511040000000,'near-duplicates',0.6262,'open',NULL,NULL,NULL,NULL,NULL,1);
CREATE TABLE recall_hits (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	entry_id VARCHAR(64) NOT NULL, 
	"query" VARCHAR(32) NOT NULL, 
	score FLOAT NOT NULL, 
	rank INTEGER NOT NULL, 
	recalled_at BIGINT NOT NULL, 
	session_id TEXT, 
	CONSTRAINT pk_recall_hits PRIMARY KEY (pk), 
	CONSTRAINT fk_recall_hits_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE receipts (
	scope_id INTEGER NOT NULL, 
	request_key VARCHAR(64) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	attempt VARCHAR(64) NOT NULL, 
	records TEXT NOT NULL, 
	recorded_at BIGINT NOT NULL, 
	CONSTRAINT pk_receipts PRIMARY KEY (scope_id, request_key), 
	CONSTRAINT fk_receipts_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE record_writes (
	scope_id INTEGER NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	record_id VARCHAR(64) NOT NULL, 
	actor TEXT NOT NULL, 
	action VARCHAR(16) NOT NULL, 
	first_at BIGINT NOT NULL, 
	last_at BIGINT NOT NULL, 
	times INTEGER NOT NULL, 
	CONSTRAINT pk_record_writes PRIMARY KEY (scope_id, kind, record_id, actor, action), 
	CONSTRAINT fk_record_writes_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "record_writes" VALUES(1,'entry','b8b29de1e0559427','host','added',1795510800000000,1795510800000000,1);
INSERT INTO "record_writes" VALUES(1,'entry','eedcd53ee476bf67','host','added',1795510860000000,1795510860000000,1);
INSERT INTO "record_writes" VALUES(1,'entry','1f9f11c7d4fba2d6','host','added',1795510920000000,1795510920000000,1);
INSERT INTO "record_writes" VALUES(1,'entry','ee3c5cf7a1affc3d','host','added',1795510980000000,1795510980000000,1);
INSERT INTO "record_writes" VALUES(2,'entry','13b5925569f6c7c4','host','added',1795511040000000,1795511040000000,1);
INSERT INTO "record_writes" VALUES(1,'skill','01111566bc819430','host','added',1795511040000000,1795511040000000,1);
CREATE TABLE refused_texts (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	pass_name VARCHAR(64) NOT NULL, 
	code VARCHAR(32) NOT NULL, 
	detail TEXT NOT NULL, 
	text TEXT NOT NULL, 
	cites TEXT NOT NULL, 
	refused_at BIGINT NOT NULL, 
	CONSTRAINT pk_refused_texts PRIMARY KEY (pk), 
	CONSTRAINT fk_refused_texts_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE reopened (
	scope_id INTEGER NOT NULL, 
	reader VARCHAR(64) NOT NULL, 
	record_id VARCHAR(64) NOT NULL, 
	CONSTRAINT pk_reopened PRIMARY KEY (scope_id, reader, record_id), 
	CONSTRAINT fk_reopened_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE runs (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	target TEXT, 
	finished BOOLEAN NOT NULL, 
	outcome VARCHAR(16), 
	as_of BIGINT NOT NULL, 
	started_at BIGINT NOT NULL, 
	finished_at BIGINT, 
	frozen TEXT NOT NULL, 
	report TEXT, 
	actor TEXT, 
	CONSTRAINT pk_runs PRIMARY KEY (pk), 
	CONSTRAINT uq_runs_scope_id_id UNIQUE (scope_id, id), 
	CONSTRAINT fk_runs_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "runs" VALUES(1,1,'a4fbd1f852e41b84','dream',NULL,1,'completed',1795511040000000,1795511040000000,1795511040000000,'{"directives":{"hashes":{},"problems":{},"texts":{}},"log_end":1,"options":{"alarm_after":3,"consolidation":{"batch_entries":80,"feedback_window":"P7D","max_entries":1000,"max_feedback":50,"neighbours":4,"protect_importance":0.8,"protect_reinforced":5,"reopen_after":"P7D","reopen_clusters":10,"reopen_within":"P56D","repairs":10,"share_cap":0.2,"share_cap_min":10,"threshold":0.2},"directives":{},"documents":{"change_limit":0.5,"loss_limit":0.25,"prompt":null,"protect_user_text":true,"protected_headings":["keep","pinned"],"share_cap":0.25,"share_cap_min":3,"size_cap":20000},"enabled":true,"episodes":{"context_entries":12,"max_turns":2000,"overlap_turns":4,"window":"P30D"},"ignore_scope_switches":false,"inference":{"batch_entries":60,"max_entries":200,"neighbours":3,"threshold":0.15},"lease":"PT1M","log":{"attempts":5,"policy":"when_consumed"},"max_outputs":null,"mining":{"max_turns":2000,"overlap_turns":4},"model":{"answer_tokens":6000,"calls_in_flight":8,"max_rounds":4,"name":null,"profile":"large","prompt_tokens":10000,"tokens_per_day":2000000,"tokens_per_run":500000,"verifier":null},"modes":{},"near_duplicates":{"max_entries":20000,"neighbours":10,"threshold":0.5},"pass_options":{},"passes":[],"preferences":{"context_entries":12,"max_feedback":50,"max_turns":2000,"overlap_turns":4,"when_casual":3,"when_frustrated":2,"when_irritated":1,"window":"P7D"},"promotion":{"glossary":[],"half_life":"P90D","interval":"P1D","likeness":0.8,"max_per_sweep":20,"min_recall_count":3,"min_score":0.35,"min_trust":1,"min_unique_days":1,"min_unique_queries":2,"never":["reports","dreams"],"scorer":"nexo","weights":{},"zone":"UTC"},"protected_categories":["active-plans"],"reading":{"batch_turns":120,"together":true,"wait_turns":0,"wait_within":"P1D","whole_turns":false},"rem":{"limit":10,"lookback":"P7D","max_entries":60,"min_pattern_strength":0.75,"narrator":"model"},"resume_within":"P1D","retention":{"archived":"P90D","history":"P90D","leap":"P45D","max_signals":50000,"max_turns":200000,"protect_importance":0.8,"protect_reinforced":5,"refused":"P30D","signals":"P90D","turns":"P90D"},"review":{"expire_after":"P30D","max_waiting":200,"per_day":50},"schedule":{"back_off":"PT1M","busy_poll":"PT5S","busy_reach":"scope","catch_up":"run_once","enabled":true,"max_back_off":"PT1H","max_concurrent_dreams":4,"on_time":"PT5M","quiet_hours":[],"trigger":{"every":"PT4H","initial_delay":"PT5M","kind":"interval"},"zone":"Local"},"sessions":{"every":"PT5M","idle":"PT30M","look_back":"P7D"},"skill_consolidation":{"co_used":10,"max_skills":1000,"review_after":"P7D","sparse_after":"P7D","sparse_below":200,"threshold":0.2,"use_window":"P30D"},"skill_gaps":{"earlier":40,"max_turns":2000,"sessions":1000,"terms":15},"skill_optimization":{"failure_window":"P30D","max_failures":10,"max_skills":200,"min_uses":5},"starts_from":"timed","step_size":250,"verification":"verified","verifier":null,"waiting":{"runs":3,"within":"P2D"},"wisp_failures":{"max_patterns":100,"max_runs":5000,"min_failures":3,"min_successes":5,"promotion":"list","review_after":"P7D","samples":5,"success_share":0.8,"window":"P14D"}},"passes":["retention","exact-fold","near-duplicates","importance-decay","fact-mining","episodes","skill-gaps","preferences","memory-consolidation","deduction","induction","skill-consolidation","skill-optimization","wisp-failures","log-consumption","promotion","rem","document-consolidation"]}','{"actor":null,"as_of":"2026-11-24T09:04:00Z","changes":0,"directives":{},"finished_at":"2026-11-24T09:04:00Z","kind":"dream","missed":null,"outcome":"completed","passes":[{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"retention","notes":{},"outcome":"unchanged","output_tokens":0,"proposed":0,"purged":0,"reason":"no_work","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":4,"name":"exact-fold","notes":{"compared":4,"folded":0},"outcome":"unchanged","output_tokens":0,"proposed":0,"purged":0,"reason":"nothing_to_change","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":4,"name":"near-duplicates","notes":{"clusters":[{"entries":["1f9f11c7d4fba2d6","ee3c5cf7a1affc3d"],"similarity":0.6262}],"compared":4},"outcome":"unchanged","output_tokens":0,"proposed":0,"purged":0,"reason":"nothing_to_change","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"importance-decay","notes":{"at_floor":0,"entries":4,"faded":0},"outcome":"unchanged","output_tokens":0,"proposed":0,"purged":0,"reason":"nothing_to_change","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"fact-mining","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"episodes","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"skill-gaps","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"preferences","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"memory-consolidation","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"deduction","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"disabled","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"induction","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"disabled","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"skill-consolidation","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"skill-optimization","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"wisp-failures","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm, wisps","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"log-consumption","notes":{},"outcome":"unchanged","output_tokens":0,"proposed":0,"purged":0,"reason":"no_work","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"promotion","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: workspace","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"rem","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: workspace","refused":[],"seconds":0.0},{"accepted":0,"backlog":0,"calls":0,"input_tokens":0,"looked_at":0,"name":"document-consolidation","notes":{},"outcome":"skipped","output_tokens":0,"proposed":0,"purged":0,"reason":"missing: llm, workspace","refused":[],"seconds":0.0}],"purged":0,"reason":null,"resumed":false,"run_id":"a4fbd1f852e41b84","scope":"default/agent/agent","started_at":"2026-11-24T09:04:00Z","target":null,"trigger":"manual"}','host');
CREATE TABLE schedules (
	scope_id INTEGER NOT NULL, 
	registered_at BIGINT NOT NULL, 
	due_at BIGINT, 
	reason VARCHAR(32) NOT NULL, 
	options_hash VARCHAR(64) NOT NULL, 
	state TEXT NOT NULL, 
	CONSTRAINT pk_schedules PRIMARY KEY (scope_id), 
	CONSTRAINT fk_schedules_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "schedules" VALUES(1,1795510800000000,NULL,'never','','{"armed":null,"began_with":5,"explicit_seen":5,"failures":0,"is_running":false,"last_attempt_at":1795511040000000,"last_success_at":1795511040000000,"problem":null,"requested_at":null,"scheduled_runs":[],"used_until":null,"version":1,"work":[["(anything new)",1795511040000000,false,true]]}');
CREATE TABLE scopes (
	pk INTEGER NOT NULL, 
	workspace VARCHAR(128) NOT NULL, 
	observer VARCHAR(128) NOT NULL, 
	observed VARCHAR(128) NOT NULL, 
	revision BIGINT DEFAULT '0' NOT NULL, 
	position BIGINT DEFAULT '0' NOT NULL, 
	explicit_entries BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_scopes PRIMARY KEY (pk), 
	CONSTRAINT uq_scopes_workspace_observer_observed UNIQUE (workspace, observer, observed)
);
INSERT INTO "scopes" VALUES(1,'default','agent','agent',11,7,5);
INSERT INTO "scopes" VALUES(2,'acme','agent','ben',1,1,1);
CREATE TABLE settings (
	scope_id INTEGER NOT NULL, 
	name VARCHAR(128) NOT NULL, 
	value TEXT NOT NULL, 
	CONSTRAINT pk_settings PRIMARY KEY (scope_id, name), 
	CONSTRAINT fk_settings_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE settled_clusters (
	scope_id INTEGER NOT NULL, 
	pass_name VARCHAR(64) NOT NULL, 
	fingerprint VARCHAR(64) NOT NULL, 
	record_ids TEXT NOT NULL, 
	declines INTEGER NOT NULL, 
	declined_at BIGINT NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	CONSTRAINT pk_settled_clusters PRIMARY KEY (scope_id, pass_name, fingerprint), 
	CONSTRAINT fk_settled_clusters_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE skill_uses (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	skill_name TEXT NOT NULL, 
	session_id TEXT NOT NULL, 
	occurred_at BIGINT NOT NULL, 
	recorded_at BIGINT NOT NULL, 
	CONSTRAINT pk_skill_uses PRIMARY KEY (pk), 
	CONSTRAINT uq_skill_uses_scope_id_id UNIQUE (scope_id, id), 
	CONSTRAINT fk_skill_uses_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE skills (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	name TEXT NOT NULL, 
	summary TEXT NOT NULL, 
	content TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT, 
	last_used_at BIGINT, 
	see_also TEXT NOT NULL, 
	trust INTEGER NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	status_reason TEXT, 
	successor TEXT, 
	status_at BIGINT, 
	version INTEGER NOT NULL, 
	revision BIGINT NOT NULL, 
	position BIGINT NOT NULL, 
	CONSTRAINT pk_skills PRIMARY KEY (pk), 
	CONSTRAINT uq_skills_scope_id_id UNIQUE (scope_id, id), 
	CONSTRAINT fk_skills_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "skills" VALUES(1,1,'01111566bc819430','kitchen/tea','Brew tea','Boil water.',1795511040000000,NULL,NULL,'[]',2,'active',NULL,NULL,NULL,1,8,7);
CREATE TABLE steps (
	scope_id INTEGER NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	number INTEGER NOT NULL, 
	pass_name VARCHAR(64) NOT NULL, 
	batch TEXT NOT NULL, 
	cursor_before BIGINT, 
	cursor_after BIGINT, 
	reopened_consumed TEXT NOT NULL, 
	committed_at BIGINT NOT NULL, 
	report TEXT NOT NULL, 
	CONSTRAINT pk_steps PRIMARY KEY (scope_id, run_id, number), 
	CONSTRAINT fk_steps_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "steps" VALUES(1,'a4fbd1f852e41b84',1,'exact-fold','[]',NULL,5,'[]',1795511040000000,'{"accepted":0,"backlog":0,"closing":true,"looked_at":4,"notes":{"compared":4,"folded":0},"outputs":0,"proposed":0,"purged":0,"refused":[],"reopened":[],"retired":0,"seconds":0.0}');
INSERT INTO "steps" VALUES(1,'a4fbd1f852e41b84',2,'near-duplicates','[]',NULL,5,'[]',1795511040000000,'{"accepted":0,"backlog":0,"closing":true,"looked_at":4,"notes":{"compared":4,"pairs":[["1f9f11c7d4fba2d6","ee3c5cf7a1affc3d",0.6262]]},"outputs":0,"proposed":0,"purged":0,"refused":[],"reopened":[],"retired":0,"seconds":0.0}');
INSERT INTO "steps" VALUES(1,'a4fbd1f852e41b84',3,'importance-decay','[]',NULL,NULL,'[]',1795511040000000,'{"accepted":0,"backlog":0,"closing":true,"looked_at":0,"notes":{"at_floor":0,"entries":4,"faded":0},"outputs":0,"proposed":0,"purged":0,"refused":[],"reopened":[],"retired":0,"seconds":0.0}');
CREATE TABLE switches (
	workspace VARCHAR(128) NOT NULL, 
	observer VARCHAR(128) NOT NULL, 
	observed VARCHAR(128) NOT NULL, 
	session_id TEXT NOT NULL, 
	dream BOOLEAN, 
	learning BOOLEAN, 
	learning_since BIGINT, 
	CONSTRAINT pk_switches PRIMARY KEY (workspace, observer, observed, session_id)
);
CREATE TABLE tombstones (
	scope_id INTEGER NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	record_id TEXT NOT NULL, 
	whole BOOLEAN NOT NULL, 
	forgotten_at BIGINT NOT NULL, 
	CONSTRAINT pk_tombstones PRIMARY KEY (scope_id, kind, record_id), 
	CONSTRAINT fk_tombstones_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "tombstones" VALUES(1,'entry','689694dc68cf530c',1,1795511040000000);
CREATE TABLE tool_calls (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	session_id TEXT NOT NULL, 
	tool_name TEXT NOT NULL, 
	succeeded BOOLEAN NOT NULL, 
	arguments TEXT, 
	error_message TEXT, 
	duration_ms BIGINT, 
	occurred_at BIGINT NOT NULL, 
	recorded_at BIGINT NOT NULL, 
	CONSTRAINT pk_tool_calls PRIMARY KEY (pk), 
	CONSTRAINT uq_tool_calls_scope_id_id UNIQUE (scope_id, id), 
	CONSTRAINT fk_tool_calls_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE turns (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	session_id TEXT NOT NULL, 
	role VARCHAR(32) NOT NULL, 
	content TEXT NOT NULL, 
	speaker TEXT, 
	occurred_at BIGINT NOT NULL, 
	recorded_at BIGINT NOT NULL, 
	consumed_at BIGINT, 
	trust INTEGER NOT NULL, 
	generated BOOLEAN NOT NULL, 
	version INTEGER NOT NULL, 
	revision BIGINT NOT NULL, 
	position BIGINT NOT NULL, 
	CONSTRAINT pk_turns PRIMARY KEY (pk), 
	CONSTRAINT uq_turns_scope_id_id UNIQUE (scope_id, id), 
	CONSTRAINT fk_turns_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
INSERT INTO "turns" VALUES(1,1,'25e1f40b5276cebd','s1','user','I live in Lisbon.','Ana',1795510800000000,1795510800000000,NULL,2,0,1,1,1);
CREATE TABLE vectors (
	scope_id INTEGER NOT NULL, 
	model VARCHAR(256) NOT NULL, 
	content_hash VARCHAR(32) NOT NULL, 
	vector BLOB NOT NULL, 
	CONSTRAINT pk_vectors PRIMARY KEY (scope_id, model, content_hash), 
	CONSTRAINT fk_vectors_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE waiting_exchanges (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	run_id VARCHAR(64) NOT NULL, 
	pass_name VARCHAR(64) NOT NULL, 
	reason VARCHAR(32) NOT NULL, 
	since BIGINT NOT NULL, 
	runs INTEGER NOT NULL, 
	tried_in VARCHAR(64) NOT NULL, 
	batch TEXT, 
	records TEXT NOT NULL, 
	rounds TEXT, 
	changes TEXT NOT NULL, 
	CONSTRAINT pk_waiting_exchanges PRIMARY KEY (pk), 
	CONSTRAINT uq_waiting_exchanges_scope_id_id UNIQUE (scope_id, id), 
	CONSTRAINT fk_waiting_exchanges_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE wisp_runs (
	pk INTEGER NOT NULL, 
	scope_id INTEGER NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	wisp_id TEXT NOT NULL, 
	description TEXT NOT NULL, 
	definition_hash TEXT NOT NULL, 
	shape_hash TEXT, 
	succeeded BOOLEAN NOT NULL, 
	step_count INTEGER NOT NULL, 
	steps_completed INTEGER NOT NULL, 
	failed_step_id TEXT, 
	failure_category VARCHAR(16), 
	error_message TEXT, 
	failed_tool_name TEXT, 
	duration_ms BIGINT NOT NULL, 
	session_id TEXT, 
	retry_of VARCHAR(64), 
	batch_id TEXT, 
	definition_body TEXT, 
	occurred_at BIGINT NOT NULL, 
	recorded_at BIGINT NOT NULL, 
	CONSTRAINT pk_wisp_runs PRIMARY KEY (pk), 
	CONSTRAINT uq_wisp_runs_scope_id_id UNIQUE (scope_id, id), 
	CONSTRAINT fk_wisp_runs_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE TABLE withheld (
	scope_id INTEGER NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	record_id VARCHAR(64) NOT NULL, 
	entry_id VARCHAR(64) NOT NULL, 
	withheld_at BIGINT NOT NULL, 
	CONSTRAINT pk_withheld PRIMARY KEY (scope_id, kind, record_id, entry_id), 
	CONSTRAINT fk_withheld_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (pk)
);
CREATE INDEX ix_erasures_scope ON erasures (workspace, observer, observed);
CREATE INDEX ix_peers_changed ON peers (changed_since) WHERE changed_since IS NOT NULL;
CREATE INDEX ix_scopes_peer ON scopes (workspace, observed);
CREATE INDEX ix_entries_category ON entries (scope_id, category) WHERE status = 'active';
CREATE INDEX ix_entries_fold ON entries (scope_id, fold_key, status);
CREATE INDEX ix_entries_held ON entries (scope_id, successor, valid_until) WHERE valid_until IS NOT NULL;
CREATE INDEX ix_entries_importance ON entries (scope_id, status, last_seen_at, base);
CREATE INDEX ix_entries_pinned ON entries (scope_id, last_seen_at) WHERE pinned IS TRUE;
CREATE INDEX ix_entries_position ON entries (scope_id, position, status);
CREATE INDEX ix_entries_recorded ON entries (scope_id, recorded_at, id);
CREATE INDEX ix_entries_retired ON entries (scope_id, status_at) WHERE status <> 'active';
CREATE INDEX ix_entries_revision ON entries (scope_id, revision);
CREATE INDEX ix_entry_sources_entry ON entry_sources (entry_pk);
CREATE INDEX ix_feedback_occurred ON feedback (scope_id, occurred_at);
CREATE INDEX ix_feedback_recorded ON feedback (scope_id, recorded_at);
CREATE INDEX ix_imports_record ON imports (scope_id, record_id);
CREATE INDEX ix_journal_record ON journal (scope_id, record_id);
CREATE INDEX ix_journal_run ON journal (scope_id, run_id, number);
CREATE INDEX ix_model_failures_run ON model_failures (scope_id, run_id);
CREATE INDEX ix_outbox_scope ON outbox (scope_id, document);
CREATE INDEX ix_proposals_state ON proposals (scope_id, state, expires_at);
CREATE INDEX ix_questions_state ON questions (scope_id, state);
CREATE INDEX ix_recall_hits_entry ON recall_hits (scope_id, entry_id, recalled_at, "query", rank);
CREATE INDEX ix_recall_hits_recalled ON recall_hits (scope_id, recalled_at);
CREATE INDEX ix_refused_texts_run ON refused_texts (scope_id, run_id);
CREATE INDEX ix_runs_started ON runs (scope_id, started_at);
CREATE INDEX ix_runs_unfinished ON runs (scope_id) WHERE finished IS FALSE;
CREATE INDEX ix_schedules_due ON schedules (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX ix_schedules_options ON schedules (options_hash);
CREATE INDEX ix_schedules_requested ON schedules (due_at) WHERE reason = 'manual';
CREATE INDEX ix_skill_uses_occurred ON skill_uses (scope_id, occurred_at);
CREATE INDEX ix_skill_uses_recorded ON skill_uses (scope_id, recorded_at);
CREATE UNIQUE INDEX ix_skills_name ON skills (scope_id, name) WHERE status = 'active';
CREATE INDEX ix_skills_position ON skills (scope_id, position);
CREATE INDEX ix_tombstones_forgotten ON tombstones (scope_id, forgotten_at);
CREATE INDEX ix_tool_calls_occurred ON tool_calls (scope_id, occurred_at);
CREATE INDEX ix_tool_calls_recorded ON tool_calls (scope_id, recorded_at);
CREATE INDEX ix_turns_position ON turns (scope_id, position);
CREATE INDEX ix_turns_recorded ON turns (scope_id, recorded_at);
CREATE INDEX ix_turns_revision ON turns (scope_id, revision);
CREATE INDEX ix_turns_session ON turns (scope_id, session_id, occurred_at);
CREATE INDEX ix_wisp_runs_occurred ON wisp_runs (scope_id, occurred_at);
CREATE INDEX ix_wisp_runs_recorded ON wisp_runs (scope_id, recorded_at);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('entries',6);
COMMIT;
