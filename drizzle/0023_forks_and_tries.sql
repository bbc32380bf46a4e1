ALTER TABLE "turn" ADD COLUMN "retry_of" text;--> statement-breakpoint
ALTER TABLE "turn" ADD COLUMN "left_out" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "turn_retry" ON "turn" USING btree ("retry_of") WHERE retry_of is not null;