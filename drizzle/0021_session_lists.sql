ALTER TABLE "session" ADD COLUMN "pinned" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "session" ADD COLUMN "archived" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "session" ADD COLUMN "read_seq" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
UPDATE "session" SET "read_seq" = "message_seq";--> statement-breakpoint
CREATE INDEX "message_words" ON "message" USING gin (to_tsvector('simple', "content"));--> statement-breakpoint
CREATE INDEX "session_pinned" ON "session" USING btree ("updated_at") WHERE pinned;