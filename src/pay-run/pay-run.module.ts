import { Module } from '@nestjs/common';
import { HoldController } from './hold.controller';
import { PayRunCommandsController } from './pay-run-commands.controller';
import { PayRunCommands } from './pay-run.commands';
import { PayRunController } from './pay-run.controller';

/** The record: pay runs as people see them and what they do to them. */
@Module({
  controllers: [PayRunController, HoldController, PayRunCommandsController],
  providers: [PayRunCommands],
  exports: [PayRunCommands],
})
export class PayRunModule {}
