CREATE TABLE "knowledge_citation" (
	"session" text NOT NULL,
	"number" integer NOT NULL,
	"turn_id" text NOT NULL,
	"document_id" text NOT NULL,
	"version" text NOT NULL,
	"hash" text NOT NULL,
	"title" text NOT NULL,
	"place" jsonb NOT NULL,
	"content" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "knowledge_citation_session_number_pk" PRIMARY KEY("session","number"),
	CONSTRAINT "knowledge_citation_passage" UNIQUE("session","document_id","version","hash")
);
--> statement-breakpoint
CREATE TABLE "knowledge_document" (
	"id" text PRIMARY KEY NOT NULL,
	"source_id" text NOT NULL,
	"scope" text NOT NULL,
	"name" text NOT NULL,
	"title" text NOT NULL,
	"version" text NOT NULL,
	"mark" text,
	"bytes" bigint NOT NULL,
	"problem" text,
	"notice" text,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "knowledge_document_name" UNIQUE("source_id","name")
);
--> statement-breakpoint
CREATE TABLE "knowledge_passage" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "knowledge_passage_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"document_id" text NOT NULL,
	"scope" text NOT NULL,
	"position" integer NOT NULL,
	"hash" text NOT NULL,
	"place" jsonb NOT NULL,
	"context" text NOT NULL,
	"content" text NOT NULL,
	"words" "tsvector" NOT NULL,
	"vector" "bytea",
	"vector_model" text
);
--> statement-breakpoint
CREATE TABLE "knowledge_source" (
	"id" text PRIMARY KEY NOT NULL,
	"scope" text NOT NULL,
	"kind" text NOT NULL,
	"location" text NOT NULL,
	"instance" text,
	"problem" text,
	"notice" text,
	"total" integer,
	"upload" "bytea",
	"lease_by" text,
	"lease_until" timestamp with time zone,
	"next_at" timestamp with time zone,
	"checked_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "knowledge_source_location" UNIQUE("scope","location")
);
--> statement-breakpoint
CREATE INDEX "knowledge_citation_turn" ON "knowledge_citation" USING btree ("turn_id");--> statement-breakpoint
CREATE INDEX "knowledge_document_scope" ON "knowledge_document" USING btree ("scope");--> statement-breakpoint
CREATE INDEX "knowledge_passage_document" ON "knowledge_passage" USING btree ("document_id","position");--> statement-breakpoint
CREATE INDEX "knowledge_passage_scope" ON "knowledge_passage" USING btree ("scope","id");--> statement-breakpoint
CREATE INDEX "knowledge_passage_words" ON "knowledge_passage" USING gin ("words");--> statement-breakpoint
CREATE INDEX "knowledge_source_due" ON "knowledge_source" USING btree ("next_at");