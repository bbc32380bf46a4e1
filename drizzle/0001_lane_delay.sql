ALTER TABLE "lane" ADD COLUMN "delay_ms" bigint;--> statement-breakpoint
-- data
UPDATE "lane" SET "delay_ms" = ceil(extract(epoch from "wake_at" - now()) * 1000) WHERE "wake_at" > now();
