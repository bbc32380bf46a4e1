CREATE TABLE "group_chat" (
	"channel" text NOT NULL,
	"chat_id" text NOT NULL,
	"observe" boolean,
	"bots" jsonb DEFAULT '{"turns":[]}'::jsonb NOT NULL,
	CONSTRAINT "group_chat_channel_chat_id_pk" PRIMARY KEY("channel","chat_id")
);
--> statement-breakpoint
CREATE TABLE "observed" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "observed_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"session" text NOT NULL,
	"message_id" text NOT NULL,
	"channel" text NOT NULL,
	"chat_id" text NOT NULL,
	"after_seq" integer NOT NULL,
	"sender_name" text NOT NULL,
	"content" text NOT NULL,
	CONSTRAINT "observed_message" UNIQUE("session","message_id")
);
--> statement-breakpoint
CREATE INDEX "observed_session" ON "observed" USING btree ("session","id");--> statement-breakpoint
CREATE INDEX "observed_chat" ON "observed" USING btree ("channel","chat_id");