CREATE TABLE "chat_setting" (
	"chat" text NOT NULL,
	"name" text NOT NULL,
	"value" text NOT NULL,
	"until" timestamp with time zone,
	CONSTRAINT "chat_setting_chat_name_pk" PRIMARY KEY("chat","name")
);
--> statement-breakpoint
CREATE TABLE "platform_update" (
	"bot" text NOT NULL,
	"id" bigint NOT NULL,
	"body" text,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "platform_update_bot_id_pk" PRIMARY KEY("bot","id")
);
--> statement-breakpoint
CREATE INDEX "platform_update_waiting" ON "platform_update" USING btree ("bot","id") WHERE body is not null;--> statement-breakpoint
CREATE INDEX "platform_update_received" ON "platform_update" USING btree ("bot","at") WHERE body is null;