CREATE TABLE "removed_folder" (
	"folder" text PRIMARY KEY NOT NULL,
	"removed_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "session" ADD COLUMN "folder" text DEFAULT gen_random_uuid()::text NOT NULL;--> statement-breakpoint
CREATE INDEX "removed_folder_age" ON "removed_folder" USING btree ("removed_at");
--> statement-breakpoint
-- data
-- Existing sessions keep the folder that was named after their key.
UPDATE "session" SET "folder" =
  substr(regexp_replace(lower("key" COLLATE "C"), '[^a-z0-9]+', '-', 'g'), 1, 40) || '.' ||
  substr(encode(sha256(convert_to("key", 'UTF8')), 'hex'), 1, 32);
--> statement-breakpoint
-- Background subagents name the folder they work in.
UPDATE "lane_item" SET "payload" = "payload" || jsonb_build_object('folder', "session"."folder")
  FROM "session" WHERE starts_with("lane_item"."lane", 'agent:') AND "session"."key" = "lane_item"."payload" ->> 'session';
