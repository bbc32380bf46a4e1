ALTER TABLE "token" ADD COLUMN "origin" text DEFAULT 'cli' NOT NULL;--> statement-breakpoint
ALTER TABLE "token" ADD COLUMN "expires_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "token" ADD COLUMN "revoked_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "token" ADD COLUMN "last_used_at" timestamp with time zone;
--> statement-breakpoint
-- data
UPDATE "token" SET "origin" = 'env' WHERE "name" = 'GATEWAY_TOKEN' AND "scopes" @> '["admin"]';--> statement-breakpoint
UPDATE "token" SET "origin" = 'file' WHERE "name" = 'first' AND "scopes" @> '["admin"]';--> statement-breakpoint
UPDATE "token" SET "scopes" = '["chat", "commands"]' WHERE "scopes" = '["chat"]';
